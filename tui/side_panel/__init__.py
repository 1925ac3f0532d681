"""The side panel: what the newest batch, the plan and the hooks are doing."""
