"""The digest of stories in their order, by which a pack and a model's record tell the same stories again."""

from collections.abc import Iterable
from hashlib import blake2b


def digest_of(stories: Iterable[str]) -> str:
    """The hexadecimal digest that a pack of these stories has."""
    digest = empty()
    for story in stories:
        add(digest, story)
    return digest.hexdigest()


def empty() -> blake2b:
    """The digest of no story."""
    return blake2b(digest_size=16)


def add(digest: blake2b, story: str) -> int:
    """Add a story to the digest; returns its size in UTF-8 bytes."""
    raw = story.encode()
    digest.update(len(raw).to_bytes(8, "little"))
    digest.update(raw)
    return len(raw)
