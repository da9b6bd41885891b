import json
import re

from tslens.report.shell import OF_LIVE, SCRIPTS, _tight, around, asset, bundle


def test_a_page_holds_its_content_and_escapes_its_names() -> None:
    page = around(
        "<main></main>", {"text": "</script>"}, name="<b>", title="a & b", style="p { top: 0; }", attention=False
    )
    assert '<body data-model="&lt;b&gt;">\n<main></main>\n' in page
    assert "<title>a &amp; b</title>" in page and "p { top: 0; }\n</style>" in page
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found and json.loads(found[1]) == {"text": "</script>"}


def test_circuitsvis_comes_along_where_there_is_attention() -> None:
    with_it, without = (around("", {}, name="m", title="m", attention=a) for a in (True, False))
    assert len(with_it) == len(without) + len(bundle())
    assert len(bundle()) > 1_000_000
    assert "</script" not in bundle().lower() and "sourceMappingURL" not in bundle()


def test_scripts_come_without_comments_and_indentation() -> None:
    page = around("", {}, name="m", title="m", attention=False)
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    assert not [line for line in script.splitlines()[1:-1] if line.startswith((" ", "//"))]
    assert all(line.count("`") % 2 == 0 for name in SCRIPTS for line in asset(name).splitlines())  # no text over lines


def test_a_style_sheet_keeps_its_rules_and_its_texts() -> None:
    style = "/* why */\na:hover,\n  b > i { color: red;\n margin: 0 1px; }\n\n"
    style += '@media (x: 1px) { q { content: ": , {"; } }\n'
    assert _tight(style).strip() == 'a:hover,b > i{color:red;margin:0 1px;}@media (x:1px){q{content:": , {";}}'


def test_no_two_scripts_of_the_page_declare_the_same_name() -> None:
    """They are joined into one script, which a second declaration of a name would stop whole."""
    declared: dict[str, str] = {}
    for name in (*SCRIPTS, *OF_LIVE):
        for found in re.findall(r"^(?:async )?(?:const|let|class|function)\*? +(\w+)", asset(name), flags=re.M):
            assert declared.setdefault(found, name) == name, f"{found} is declared in {declared[found]} and in {name}"
