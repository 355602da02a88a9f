"""The agent under test as a suite declares it: never part of a snapshot, mounted read-only at `/agent`."""

from typing import Literal

from pydantic import Field, model_validator

from harness.values import Frozen, JsonValue


class ChatEndpoint(Frozen):
    """How an agent that is an HTTP chat endpoint is talked to, inside its sandbox."""

    path: str = Field(default="/chat", pattern="^/")
    """Path that a message is posted to."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """The port of the endpoint; None chooses a free one, which the agent receives as `{port}` in its command and as the
    environment variable PORT.
    """
    send: JsonValue = {"message": "{message}"}
    """The request's body; `{message}`, `{messages}` (role and content of all so far), `{system}`, `{profile}` and
    `{conversation}` are replaced where they are whole texts.
    """
    reply: str = Field(default="/message", pattern=r"^(/[^/]*)+$")
    """JSON pointer to the agent's reply in its answer."""
    ready: str | None = Field(default=None, pattern="^/")
    """A path that answers 200 when the agent is ready; None: as soon as the port can be connected to."""
    start_s: float = Field(default=30.0, gt=0)
    """Seconds within which the agent must be ready."""


class AgentVersion(Frozen):
    """One version of the agent.

    In `command`, `{agent}` is the folder of the agent's files and `{work}` its working directory, so that one
    declaration serves every sandbox.
    """

    command: tuple[str, ...] = Field(min_length=1)
    """Program and its arguments."""
    files: str | None = None
    """Folder with the agent's files, relative to the suite; its digest names the agent in every manifest. None: the
    image holds all that the command needs, and `{agent}` is an empty folder."""
    prompts: tuple[str, ...] = ()
    """Files inside `files` that hold prompts: they get a digest of their own, so that a change is attributed."""
    env: dict[str, str] = {}
    """Environment variables of the agent; they must not contain secrets, because the manifest stores them."""
    image: str | None = None
    """An image of its own to run in; None: the environment's."""
    answer: Literal["reply", "stdout"] = "reply"
    """Where the final answer is read: the last `/reply`, or standard output."""
    speaks: Literal["turns", "http", "lines"] = "turns"
    """The protocol of the conversation: the agent requests the user's turns itself, it is an HTTP chat endpoint, or a
    process that reads and writes lines of JSON. The last two are driven by a program of the harness inside the sandbox
    (needs its python3).
    """
    chat: ChatEndpoint = ChatEndpoint()
    """For `speaks: http`."""

    @model_validator(mode="after")
    def _prompts_lie_in_files(self) -> "AgentVersion":
        if self.prompts and self.files is None:
            raise ValueError("`prompts` are files inside `files`, which is not given")
        return self
