"""Addresses of brokers, and how to speak of them without giving the password away."""

from urllib.parse import parse_qsl, urlencode, urlsplit

_SCHEMES = ("amqp", "amqps")
_UNREADABLE = "(an address that cannot be read)"


def redacted(url: str) -> str:
    """Return an address without password and options, for messages and logs.

    >>> redacted("amqp://worker:secret@broker:5672/poker?heartbeat=5")
    'amqp://worker:***@broker:5672/poker'

    What cannot be read is not shown at all, as any part of it may be the password's.

    >>> redacted("amqp://worker:12/3@broker/")
    '(an address that cannot be read)'
    """
    if fault_in(url):
        return _UNREADABLE
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = f"{parts.username or ''}:***@" if "@" in parts.netloc else ""
    return f"{parts.scheme}://{user}{host}{parts.path}"


def fault_in(url: str) -> str | None:
    """Say what is wrong with an address, without quoting it; None if nothing is.

    >>> fault_in("amqps://broker/poker")
    >>> fault_in("http://broker/")
    'it does not begin with amqp:// or amqps://'
    """
    try:
        parts = urlsplit(url)
        _ = parts.port, (parts.hostname or "").encode("idna")  # which are read only now
    except ValueError:
        return "its host or port cannot be read"
    if parts.scheme not in _SCHEMES:
        return "it does not begin with amqp:// or amqps://"
    if not parts.hostname:
        return "it has no host"
    if "@" in parts.path + parts.query + parts.fragment:
        return "characters such as / ? # @ in its password must be written as %2F %3F %23 %40"
    return None


def with_options(url: str, **options: int) -> str:
    """Return an address with options of the client library set in its query.

    >>> with_options("amqp://broker/poker?heartbeat=60&cafile=a.pem", heartbeat=5)
    'amqp://broker/poker?heartbeat=5&cafile=a.pem'
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query)) | {name: str(value) for name, value in options.items()}
    return parts._replace(query=urlencode(query)).geturl()
