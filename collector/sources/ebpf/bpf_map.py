"""One map of a loaded program, read in one go by bpf(2); neither bcc nor a copy of its compiler is needed."""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["BpfMap"]

_SYSCALL: Final = {"x86_64": 321, "aarch64": 280}
_LOOKUP, _UPDATE, _DELETE, _NEXT, _LOOKUP_BATCH = 1, 2, 3, 4, 24
_ANY, _NOEXIST = 0, 1
_ELEMENT: Final = struct.Struct("=I4xQQQ")
_BATCH: Final = struct.Struct("=QQQQIIQQ")
_libc: Final = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attributes: "ctypes.Array[ctypes.c_char]") -> int:
    """Call bpf(2); return 0, or the error's number."""
    number = _SYSCALL[platform.machine()]
    done = _libc.syscall(number, command, ctypes.byref(attributes), len(attributes))
    return ctypes.get_errno() if done < 0 else 0


class BpfMap:
    """A hash or an array in the kernel, not per CPU; keys and values are tuples of `struct` formats."""

    def __init__(self, fd: int, key: str, value: str, entries: int) -> None:
        """Take over `fd` of a map of at most `entries`; the formats are in native order without padding."""
        self.fd = fd
        self._key = struct.Struct(f"={key}")
        self._value = struct.Struct(f"={value}")
        self._entries = entries
        self._batches = True
        self._keys = ctypes.create_string_buffer(self._key.size * entries)
        self._values = ctypes.create_string_buffer(self._value.size * entries)

    def items(self) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Return every entry; one system call where the kernel has batches (5.6), else two an entry."""
        if self._batches:
            try:
                return list(self._batch())
            except OSError as fault:
                if fault.errno not in (errno.EINVAL, errno.EPERM, errno.ENOTSUP):
                    raise
                self._batches = False
        return list(self._one_by_one())

    def raw(self) -> tuple[bytes, bytes]:
        """Return all keys and all values as they lie in memory, for numpy; needs batches (Linux 5.6)."""
        keys, values = [], []
        for some_keys, some_values in self._raw_batches():
            keys.append(some_keys)
            values.append(some_values)
        return b"".join(keys), b"".join(values)

    def get(self, *key: Any) -> tuple[Any, ...] | None:
        """Return the value of one key, None where there is none."""
        raw = ctypes.create_string_buffer(self._key.pack(*key), self._key.size)
        return self._lookup(raw)

    def put(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:
        """Write one entry."""
        self._update(key, value, _ANY)

    def put_new(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> bool:
        """Write one entry unless its key is there, whose value then stays; say whether it was written."""
        return self._update(key, value, _NOEXIST)

    def drop(self, *key: Any) -> None:
        """Remove one entry if it is there."""
        raw = ctypes.create_string_buffer(self._key.pack(*key), self._key.size)
        fault = self._element(_DELETE, raw, None)
        if fault not in (0, errno.ENOENT):
            raise OSError(fault, os.strerror(fault))

    def close(self) -> None:
        """Let go of the map."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _update(self, key: tuple[Any, ...], value: tuple[Any, ...], flags: int) -> bool:
        raw_key = ctypes.create_string_buffer(self._key.pack(*key), self._key.size)
        raw_value = ctypes.create_string_buffer(self._value.pack(*value), self._value.size)
        fault = self._element(_UPDATE, raw_key, raw_value, flags)
        if fault not in (0, errno.EEXIST):
            raise OSError(fault, os.strerror(fault))
        return not fault

    def _lookup(self, raw_key: "ctypes.Array[ctypes.c_char]") -> tuple[Any, ...] | None:
        raw = ctypes.create_string_buffer(self._value.size)
        fault = self._element(_LOOKUP, raw_key, raw)
        if fault == errno.ENOENT:
            return None
        if fault:
            raise OSError(fault, os.strerror(fault))
        return self._value.unpack(raw.raw)

    def _element(
        self,
        command: int,
        key: "ctypes.Array[ctypes.c_char] | None",
        value: "ctypes.Array[ctypes.c_char] | None",
        flags: int = 0,
    ) -> int:
        places = (ctypes.addressof(each) if each is not None else 0 for each in (key, value))
        packed = _ELEMENT.pack(self.fd, *places, flags)
        return _bpf(command, ctypes.create_string_buffer(packed, len(packed)))

    def _one_by_one(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        last: ctypes.Array[ctypes.c_char] | None = None
        while True:
            following = ctypes.create_string_buffer(self._key.size)
            fault = self._element(_NEXT, last, following)
            if fault == errno.ENOENT:
                return
            if fault:
                raise OSError(fault, os.strerror(fault))
            value = self._lookup(following)
            if value is not None:  # gone since the step before
                yield self._key.unpack(following.raw), value
            last = following

    def _batch(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        for keys, values in self._raw_batches():
            yield from zip(self._key.iter_unpack(keys), self._value.iter_unpack(values), strict=True)

    def _raw_batches(self) -> Iterator[tuple[bytes, bytes]]:
        place = ctypes.create_string_buffer(max(8, self._key.size))
        first = True
        while True:
            packed = _BATCH.pack(
                0 if first else ctypes.addressof(place),
                ctypes.addressof(place),
                ctypes.addressof(self._keys),
                ctypes.addressof(self._values),
                self._entries,
                self.fd,
                0,
                0,
            )
            attributes = ctypes.create_string_buffer(packed, len(packed))
            fault = _bpf(_LOOKUP_BATCH, attributes)
            if fault not in (0, errno.ENOENT):
                raise OSError(fault, os.strerror(fault))
            count = _BATCH.unpack(attributes.raw)[4]
            yield (
                ctypes.string_at(self._keys, count * self._key.size),
                ctypes.string_at(self._values, count * self._value.size),
            )
            if fault:  # ENOENT: this was the last
                return
            first = False
