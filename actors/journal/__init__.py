"""The journal: what a shard has done, in a stream, before anybody is told of it."""

from actors.journal.journal import Journal, LeaseLost, Loss, begin
from actors.journal.reading import JournalError
from actors.journal.records import Outgoing, Owner, Record

__all__ = ["Journal", "JournalError", "LeaseLost", "Loss", "Outgoing", "Owner", "Record", "begin"]
