"""Messages of a session, and what it tells of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["sent", "delivered", "timer"]


@dataclass(eq=False)
class Message:
    """A message of a session.

    Attributes:
        number: That of its flow in table ``flows``.
        src: Name of the sender.
        dst: Name of the receiver.
        bytes: Payload.
        tag: The caller's own.
        start_ns: When it was sent.
        delivered_ns: When its last byte arrived; None before.
        sent_ns: When its sender knew that; None before.
    """

    number: int
    src: str
    dst: str
    bytes: int
    tag: Any
    start_ns: float
    delivered_ns: float | None = None
    sent_ns: float | None = None


@dataclass(frozen=True)
class Completion:
    """What has happened, and when.

    Attributes:
        kind: ``"delivered"``: the last byte of the message has arrived; ``"sent"``: its sender has
            the acknowledgement of all of it; ``"timer"``: a timer is due.
        time_ns: When, in nanoseconds, exact to the picosecond.
        message: The message; None for a timer.
        timer: What :meth:`Session.schedule` answered; None for a message.
        tag: The caller's own.
    """

    kind: Kind
    time_ns: float
    message: Message | None
    timer: int | None
    tag: Any
