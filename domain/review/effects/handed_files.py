"""Files with secrets that programs take to other machines by their options."""

from __future__ import annotations

import re
from collections.abc import Iterator

from quorum.domain.review.effects.places import find_secret, is_local
from quorum.domain.review.hazards.invocation import Invocation

# kubectl 1.26, helm 3.11, docker(1) 20.10
_CLUSTERS = {
    **dict.fromkeys(("kubectl", "oc"), ("--from-file", "--from-env-file")),
    **dict.fromkeys(("helm", "helmfile"), ("--set-file",)),
}
_HANDS_OVER = frozenset({"build", "bake", "cp"})
_ENGINES = frozenset({"docker", "podman", "nerdctl", "docker-compose"})
_RUN_IMAGES = frozenset({"apptainer", "singularity"})
HANDS_ON = _ENGINES | _RUN_IMAGES | _CLUSTERS.keys()
"""The programs that hand files on to engines and clusters."""
_FAR = ("-H", "--host", "--context", "--connection", "--url")
_SOURCE = re.compile(r"(?:^|,)(?:src|source)=([^,]+)")
_KEY = re.compile(r"[\w.-]+=")
_LOCAL_SOCKET = ("unix:", "npipe:", "default", "desktop-linux", "colima", "rootless")


def list_handed_secrets(run: Invocation, engine: str) -> Iterator[tuple[str, str]]:
    """The files with secrets whose contents a program hands on, each with the place that they go to. `engine`
    is where a variable says that containers are built and run."""
    if run.program in _CLUSTERS:
        for path in run.find_values(*_CLUSTERS[run.program]):
            if secret := find_secret(_KEY.sub("", path, count=1)):
                yield secret, "a cluster"
    elif run.program in _ENGINES and (far := next(run.find_values(*_FAR), engine)):
        sources = (found[1] for each in run.find_values("--secret") if (found := _SOURCE.search(each)))
        for path in (*run.find_values("--env-file"), *sources):
            if not far.startswith(_LOCAL_SOCKET) and (secret := find_secret(path)):
                yield secret, far


_STARTS = frozenset({"run", "create", "exec", "shell", "instance"})
_MOUNTS = ("-v", "--volume", "--mount", "-B", "--bind")
_OWN_IMAGES = (
    (".aws", re.compile(r"(public\.ecr\.aws/)?(amazon|aws-cli|aws|localstack|hashicorp)/[\w./-]+(:[\w.-]+)?")),
    (
        ".kube",
        re.compile(
            r"(bitnami|alpine|registry\.k8s\.io|rancher|hashicorp)/(kube|helm|k8s|terraform)[\w./-]*(:\S+)?"
        ),
    ),
    ("gcloud", re.compile(r"(gcr\.io/)?(google(\.com/cloudsdktool)?|hashicorp)/[\w./-]+(:[\w.-]+)?")),
    (".azure", re.compile(r"(mcr\.microsoft\.com|hashicorp)/[\w./-]+(:[\w.-]+)?")),
    (".npmrc", re.compile(r"node(:[\w.-]+)?")),
    (".pypirc", re.compile(r"python(:[\w.-]+)?")),
)
"""Images of those whose programs a secret is for, by a part of its path (Docker Hub, 2026)."""


def list_mounted_secrets(run: Invocation) -> Iterator[str]:
    """The files with secrets that a container gets to see which is not of the program that they are for."""
    if run.program not in _ENGINES | _RUN_IMAGES:
        return
    if "cp" in run.operands[:2]:
        paths = [run.operands[-2]] if run.operands[2:] and ":" in run.operands[-1] else []
    elif _STARTS.isdisjoint(run.operands):
        return
    else:
        given = run.find_values(*_MOUNTS)
        paths = [found[1] if (found := _SOURCE.search(each)) else each.partition(":")[0] for each in given]
    for path in paths:
        if (secret := find_secret(path)) and not path.endswith(".sock"):
            own = (image for part, image in _OWN_IMAGES if part in secret)
            if not any(image.fullmatch(word) for image in own for word in run.operands):
                yield secret


def find_engine_elsewhere(run: Invocation, engine: str) -> str | None:
    """The machine that gets the files of this folder, as the engine that builds of them is there."""
    if run.program not in _ENGINES or _HANDS_OVER.isdisjoint(run.arguments):
        return None
    address = next(run.find_values("-H", "--host"), engine)
    return None if not address or address.startswith(_LOCAL_SOCKET) or is_local(address) else address
