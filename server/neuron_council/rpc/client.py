"""What a client says of itself in `initialize`. Pure."""

from __future__ import annotations

from typing import Any, get_args

from attrs import frozen

from neuron_council.rpc.document import Encoding

_ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)


@frozen
class Client:
    """What is read of a client's capabilities; one that says nothing has none, and is no editor.

    An editor is whoever shows text documents. `knows_council` says that it wants the notifications that are ours.
    """

    is_editor: bool = False
    knows_council: bool = True
    encoding: Encoding = "utf-16"
    shows_progress: bool = False
    reads_markdown: bool = False
    takes_code_actions: bool = False
    takes_versions: bool = False


def client(capabilities: Any) -> Client:
    """The client of CAPABILITIES, of any shape: what is not as the protocol has it counts as not said."""
    features = _at(capabilities, "textDocument")
    is_editor = isinstance(features, dict) and bool(features)
    formats = _strings(_at(features, "hover", "contentFormat"))
    encodings = _strings(_at(capabilities, "general", "positionEncodings"))
    return Client(
        is_editor=is_editor,
        knows_council=not is_editor or bool(_at(capabilities, "experimental", "neuronCouncil")),
        encoding=next((known for name in encodings for known in _ENCODINGS if known == name), "utf-16"),
        shows_progress=_at(capabilities, "window", "workDoneProgress") is True,
        reads_markdown=formats[:1] == ["markdown"],
        takes_code_actions=isinstance(_at(features, "codeAction", "codeActionLiteralSupport"), dict),
        takes_versions=_at(features, "publishDiagnostics", "versionSupport") is True,
    )


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _strings(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
