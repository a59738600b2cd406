"""What Spark keeps of a stream in its checkpoint: which log, and how far."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lsm.errors import InvalidArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """How far a stream has come in the content that it begins with.

    `pin` names where that is held, `time_us` is the time its rows have.  Keys below `reached` were given.
    Once all were (`is_done`), it says only what to let go.
    """

    pin: str
    time_us: int
    reached: bytes = b""
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """Everything up to sequence number `seq` of a log was given; with `held`, not all of that yet."""

    log: str
    seq: int
    held: Held | None = None

    @property
    def is_in_snapshot(self) -> bool:
        """Tell whether there is more to give of the content that the stream begins with."""
        return self.held is not None and not self.held.is_done

    def reaching(self, key: bytes | None) -> "Offset":
        """Return the place in the same content below `key`; None is its end."""
        assert self.held is not None
        if key is None:
            return replace(self, held=replace(self.held, reached=b"", is_done=True))
        return replace(self, held=replace(self.held, reached=key))

    def to_json(self) -> dict[str, object]:
        """Return what Spark writes down; the same place is always the same text."""
        fields: dict[str, object] = {"log": self.log, "seq": self.seq}
        if self.held is not None:
            fields["snapshot"] = {
                "pin": self.held.pin,
                "time": self.held.time_us,
                "reached": self.held.reached.hex(),
                "done": self.held.is_done,
            }
        return fields

    @staticmethod
    def of(fields: Mapping[str, object]) -> "Offset":
        """Inverse of to_json; raise if this is no offset of ours."""
        try:
            log, seq = fields["log"], _number(fields["seq"])
            if not isinstance(log, str):
                raise TypeError("log is a name")
            return Offset(log=log, seq=seq, held=_held(fields.get("snapshot")))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidArgument(
                f"{dict(fields)!s:.200} in the checkpoint is no offset of a change feed; "
                "a query whose source has changed needs a new checkpointLocation"
            ) from error


def _held(fields: object) -> Held | None:
    if fields is None:
        return None
    if not isinstance(fields, Mapping):
        raise TypeError("not an object")
    pin, is_done = fields["pin"], fields["done"]
    if not isinstance(pin, str) or not isinstance(is_done, bool):
        raise TypeError("fields of the wrong kind")
    reached = bytes.fromhex(fields["reached"])
    return Held(pin=pin, time_us=_number(fields["time"]), reached=reached, is_done=is_done)


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r:.40} is no number")
    return value
