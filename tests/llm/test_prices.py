"""Prices from a file that a person can edit."""

import pytest
from pydantic import BaseModel

from tslens import llm
from tslens.llm.prices import Tokens


class Grade(BaseModel):
    plot: int


def test_a_price_worked_out_by_hand():
    price = llm.price_of("claude-haiku-4-5-20251001")  # 1 and 5 dollars a million
    tokens = Tokens(input=1_000_000, output=100_000, cache_write=400_000, cache_read=1_000_000)
    assert price.usd(tokens) == pytest.approx(1 + 0.5 + 0.5 + 0.1)
    assert price.usd(tokens, batch=True) == pytest.approx(2.1 / 2)


@pytest.mark.parametrize("number", ["1" + "0" * 300, "1" + "0" * 400, "1e300", "1e9", "inf", "nan"])
def test_a_price_whose_products_are_no_numbers_is_refused(tmp_path, refused, number):
    text = "[factors]\nbatch = 0.5\ncache_write = 1\ncache_read = 1\n[models]\nmine = { input = 3, output = 4 }\n"
    for old in ("0.5", "3", "4"):
        (tmp_path / "prices.toml").write_text(text.replace(old, number))
        with refused("prices.toml (is no file of prices|has a number of over 308 digits)"):
            llm.price_of("mine", tmp_path / "prices.toml")


def test_a_prompt_whose_price_is_not_known_is_refused(refused):
    price, settings = llm.price_of("claude-haiku-4-5"), llm.Settings("claude-haiku-4-5")
    request = llm.Request("Say yes.", "a " * 60_000, Grade, 10)
    with refused(r"may have 121,\d+ tokens of input, and the prices hold for fewer than 100,000"):
        price.most(request, settings)
    assert price.most(llm.Request("Say yes.", "a " * 40_000, Grade, 10), settings) > 0


def test_the_users_own_file_and_one_that_is_named(tmp_path, monkeypatch, refused):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "tslens" / "prices.toml"
    own.parent.mkdir()
    text = "[factors]\nbatch = 0.5\ncache_write = 1\ncache_read = 1\n[models]\nmine = { input = 3, output = 4 }\n"
    own.write_text(text)
    assert llm.price_of("mine").output == 4
    with refused("prices.toml has no price for the model 'claude-haiku-4-5' .it has mine."):
        llm.price_of("claude-haiku-4-5")
    named = tmp_path / "named.toml"
    named.write_text(text.replace("4", "9"))
    assert llm.price_of("mine", named).output == 9
    with refused("there is no file of prices"):
        llm.price_of("mine", tmp_path / "none.toml")
    for broken in ("[models", "models = 3", text.replace("3", "-3"), text.replace("4", '"4"'), "[models]\nmine = 3\n"):
        named.write_text(broken)
        with refused("named.toml is (no file of prices|not TOML)"):
            llm.price_of("mine", named)
