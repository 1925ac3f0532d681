"""`dependency_injector`, without the libraries that it would load for what quorum does not use of it.

It imports PyYAML and pydantic wherever they are installed, to read containers and settings with them, and web
frameworks, to know their requests, which would take up to 100 ms of each start. Here it finds none of them.
"""

from __future__ import annotations

from quorum.infrastructure.lean_imports import without

with without("yaml", "pydantic", "pydantic_settings", "fastapi", "fast_depends", "starlette", "werkzeug"):
    from dependency_injector import containers as containers
    from dependency_injector import providers as providers
