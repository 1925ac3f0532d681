"""What remote control calls the screens of the app: names that stay, whatever the classes are called."""

from __future__ import annotations

from collections.abc import Mapping

from textual.screen import Screen

SCREEN_NAMES: Mapping[str, str] = {
    "AgentsScreen": "agents",
    "BoardScreen": "board",
    "ChangesScreen": "changes",
    "ChatScreen": "chat",
    "ContextScreen": "context",
    "CostScreen": "cost",
    "DropWorktreeDialog": "drop_worktree",
    "EndJobsDialog": "end_jobs",
    "FindingsScreen": "findings",
    "HelpScreen": "help",
    "InboxScreen": "inbox",
    "JobsScreen": "jobs",
    "LocalServerDialog": "local_server",
    "LoginScreen": "login",
    "McpScreen": "mcp",
    "MemoryDialog": "memory",
    "MergeWorktreeDialog": "merge_worktree",
    "ModelPicker": "models",
    "PagerScreen": "pager",
    "PaletteScreen": "palette",
    "PermissionsScreen": "permissions",
    "RedoScreen": "redo",
    "RestoreScreen": "undo",
    "ReviewDialog": "review",
    "SandboxOfferDialog": "sandbox_offer",
    "ServerAddressDialog": "server_address",
    "ServerFormDialog": "server_form",
    "SessionPicker": "sessions",
    "SettingsScreen": "settings",
    "SkillsScreen": "skills",
    "SpendDialog": "spending",
    "StatusScreen": "status",
    "SubagentScreen": "subagent",
    "ThemePicker": "themes",
    "TimelineScreen": "timeline",
    "TrustDialog": "trust",
    "TurnList": "turns",
    "VerdictScreen": "verdicts",
}
"""By the name of the class, so that no screen is imported before it is shown."""


def name_of_screen(screen: Screen[object]) -> str:
    """The name of a screen. A class without a name of its own has that of the one it is made of."""
    names = (SCREEN_NAMES.get(kind.__name__) for kind in type(screen).__mro__)
    return next((name for name in names if name is not None), "other")
