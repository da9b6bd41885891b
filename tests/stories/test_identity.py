"""Identity of stories: the hash by hand, counts of what is met again."""

from hashlib import blake2b

from tslens.stories.identity import Occurrences, content_hash


def test_the_hash_is_the_first_eight_bytes_of_blake2b_and_never_changes() -> None:
    digest = blake2b("Tom “ran”.".encode(), digest_size=8).digest()
    assert content_hash("Tom “ran”.") == int.from_bytes(digest, "little", signed=True)
    assert content_hash("") == -5426141060434712860


def test_stories_of_one_text_are_counted_and_others_stay_first() -> None:
    occurrences = Occurrences()
    found = [occurrences.identify(text) for text in ("a", "b", "a", "c", "a", "b")]
    assert [occurrence for _, occurrence in found] == [0, 0, 1, 0, 2, 1]
    assert [key for key, _ in found] == [content_hash(text) for text in ("a", "b", "a", "c", "a", "b")]
