"""The configuration: file, then variables, then initializationOptions, and one clear message for every fault."""

import os
from pathlib import Path

import pytest

from neuron_council.config import CouncilSettings, home, load
from neuron_council.errors import ConfigError

MEMBER = '[[member]]\nid = "{}"\nmodel = "m"\nrole = "{}"\n'
BOARD = MEMBER.format("a", "member") + MEMBER.format("b", "member") + MEMBER.format("c", "contrarian")
OPTION_BOARD = [
    {"id": "z", "model": "m", "role": "contrarian"},
    {"id": "x", "model": "m", "role": "member"},
    {"id": "y", "model": "m", "role": "member"},
]


@pytest.fixture
def configured(tmp_path):
    """The settings of a text for council.toml (None: no file), variables and options."""

    def settings(text=None, options=None, **environ):
        if text is not None:
            (tmp_path / "council.toml").write_text(text, "utf-8")
        return load(tmp_path, environ, options)

    return settings


@pytest.fixture
def fault(configured):
    """The message of a configuration that cannot be used."""

    def message(*args, **kwargs):
        with pytest.raises(ConfigError) as caught:
            configured(*args, **kwargs)
        text = str(caught.value)
        assert "\n" not in text.strip()
        assert "Traceback" not in text
        return text

    return message


# --- defaults and precedence --------------------------------------------------------------------------------------


def test_defaults(configured, tmp_path):
    settings = configured()
    assert settings.council == CouncilSettings(
        member_timeout_s=10,
        load_wait_s=20,
        deadline_s=60,
        max_loops=3,
        cache_ttl_s=86400,
        max_parallel_per_model=1,
    )
    connections = settings.connections
    assert connections.ollama_url == "http://127.0.0.1:11434"
    assert (connections.keep_alive, connections.num_ctx) == ("30m", 8192)
    assert (connections.member_timeout_s, connections.max_parallel) == (10, 1)
    assert [(spec.id, spec.model, spec.role, spec.backend) for spec in settings.members] == [
        ("neuron", "neuron:latest", "member", "ollama"),
        ("neuron-ft", "neuron-ft:latest", "member", "ollama"),
        ("dolphin", "dolphin3:8b", "contrarian", "ollama"),
    ]
    assert settings.home == tmp_path
    assert settings.warnings == ()


@pytest.mark.parametrize("text", ["", "# nothing\n", "[council]\n[ollama]\n"])
def test_a_file_that_says_nothing_changes_nothing(configured, text):
    written = configured(text)
    assert written.council == CouncilSettings()
    assert [spec.id for spec in written.members] == ["neuron", "neuron-ft", "dolphin"]


def test_home_is_the_variable_or_a_folder_of_the_user():
    assert home({}) == Path("~/.neuron").expanduser()
    assert home({"NEURON_HOME": ""}) == Path("~/.neuron").expanduser()
    assert home({"NEURON_HOME": "/srv/neuron"}) == Path("/srv/neuron")
    assert home({"NEURON_HOME": "~/memory"}) == Path("~/memory").expanduser()
    assert home({"NEURON_HOME": "relative"}).is_absolute()


VALUES = {
    "member_timeout_s": (5, "6", 7),
    "load_wait_s": (0, "1.5", 2.5),
    "deadline_s": (30, "31", 32),
    "max_loops": (1, "2", 3),
    "cache_ttl_s": (0, "60", 61),
    "max_parallel_per_model": (2, "3", 4),
}


def test_every_key_of_the_table_is_known():
    assert set(VALUES) == {attribute.name for attribute in CouncilSettings.__attrs_attrs__}


@pytest.mark.parametrize("key", VALUES)
def test_variables_override_the_file_and_options_override_both(configured, key):
    in_file, in_variable, in_options = VALUES[key]
    text = f"[council]\n{key} = {in_file}\n"
    variable = {f"NEURON_COUNCIL_{key.upper()}": in_variable}
    options = {"council": {key: in_options}}
    assert getattr(configured(text).council, key) == in_file
    assert getattr(configured(text, **variable).council, key) == float(in_variable)
    assert getattr(configured(text, options, **variable).council, key) == in_options
    assert getattr(configured(text, options).council, key) == in_options


def test_sources_override_key_by_key(configured):
    settings = configured(
        "[council]\nmember_timeout_s = 5\nload_wait_s = 6\ndeadline_s = 50\n",
        {"council": {"deadline_s": 52}},
        NEURON_COUNCIL_LOAD_WAIT_S="7",
    ).council
    assert (settings.member_timeout_s, settings.load_wait_s, settings.deadline_s) == (5, 7, 52)


def test_an_empty_variable_is_not_set(configured):
    settings = configured("[council]\nmax_loops = 1\n", NEURON_COUNCIL_MAX_LOOPS=" ", OLLAMA_HOST="")
    assert settings.council.max_loops == 1
    assert settings.connections.ollama_url == "http://127.0.0.1:11434"


def test_the_vote_has_the_configured_limit(configured):
    connections = configured("[council]\nmember_timeout_s = 4.5\nmax_parallel_per_model = 3\n").connections
    assert (connections.member_timeout_s, connections.max_parallel) == (4.5, 3)


def test_options_replace_the_board_and_merge_the_tables(configured):
    settings = configured(
        '[ollama]\nnum_ctx = 4096\nkeep_alive = "5m"\n' + BOARD,
        {"ollama": {"num_ctx": 2048, "base_url": "http://127.0.0.1:1"}, "member": OPTION_BOARD},
    )
    assert [spec.id for spec in settings.members] == ["x", "y", "z"]
    connections = settings.connections
    assert (connections.num_ctx, connections.keep_alive) == (2048, "5m")
    assert connections.ollama_url == "http://127.0.0.1:1"


def test_without_a_board_in_the_options_the_files_stands(configured):
    assert [spec.id for spec in configured(BOARD, {"council": {"max_loops": 1}}).members] == ["a", "b", "c"]


# --- Ollama -------------------------------------------------------------------------------------------------------


def test_ollama_host_counts_where_base_url_is_not_set(configured):
    assert configured(OLLAMA_HOST="10.1.2.3:4").connections.ollama_url == "http://10.1.2.3:4"
    text = '[ollama]\nbase_url = "http://10.9.9.9:9"\n'
    assert configured(text, OLLAMA_HOST="10.1.2.3:4").connections.ollama_url == "http://10.9.9.9:9"
    options = {"ollama": {"base_url": "http://10.8.8.8:8"}}
    assert configured("", options, OLLAMA_HOST="10.1.2.3:4").connections.ollama_url == "http://10.8.8.8:8"


@pytest.mark.parametrize("host", ["example.com:99999", "ftp://example.com", "user@example.com"])
def test_a_host_that_is_no_address_is_named(fault, host):
    message = fault(OLLAMA_HOST=host)
    assert "OLLAMA_HOST" in message
    assert host in message


@pytest.mark.parametrize("url", ["ftp://example.com", "http://example.com:abc", "two words", "", 5])
def test_a_base_url_that_is_no_address_is_named(fault, url):
    message = fault(options={"ollama": {"base_url": url}})
    for word in ("initializationOptions", "ollama", "base_url"):
        assert word in message


@pytest.mark.parametrize("keep_alive", ["30m", "24h", "1h30m", "-1", "300", 300, 0, -1])
def test_keep_alive_is_a_duration_or_seconds(configured, fault, keep_alive):
    options = {"ollama": {"keep_alive": keep_alive}}
    if keep_alive in ("-1", "300"):  # Ollama refuses a number without a unit in a string
        assert "keep_alive" in fault(options=options)
    else:
        assert configured(options=options).connections.keep_alive == keep_alive


# --- members ------------------------------------------------------------------------------------------------------


def test_the_contrarian_is_forced_last(configured):
    text = MEMBER.format("c", "contrarian") + MEMBER.format("b", "member") + MEMBER.format("a", "member")
    assert [(spec.id, spec.role) for spec in configured(text).members] == [
        ("b", "member"),
        ("a", "member"),
        ("c", "contrarian"),
    ]


def test_every_key_of_a_member(configured):
    text = BOARD + (
        '[[member]]\nid = "d"\nmodel = "judge:7b"\nrole = "member"\nbackend = "openai"\n'
        'base_url = "http://127.0.0.1:8080/v1/"\ntimeout_s = 2.5\n'
        'options = {seed = 7, stop = ["x"], deep = {a = 1.5}}\n'
    )
    spec = configured(text).members[2]
    assert (spec.id, spec.model, spec.role, spec.backend) == ("d", "judge:7b", "member", "openai")
    assert spec.base_url == "http://127.0.0.1:8080/v1"
    assert spec.timeout_s == 2.5
    assert spec.options == {"seed": 7, "stop": ["x"], "deep": {"a": 1.5}}


def test_a_member_needs_neither_backend_nor_options(configured):
    spec = configured(BOARD).members[0]
    assert (spec.backend, spec.base_url, spec.timeout_s, dict(spec.options)) == ("ollama", None, None, {})


@pytest.mark.parametrize("backend", ["ollama", "openai", "embedded"])
def test_every_backend(configured, backend):
    member = f'backend = "{backend}"\nbase_url = "http://127.0.0.1:1"\n'
    assert configured(BOARD + member).members[2].backend == backend


def test_a_persona_is_told_to_the_member_and_not_to_the_backend(configured):
    spec = configured(BOARD + 'options = {persona = " A sceptic. ", seed = 1}\n').members[2]
    assert spec.persona == "A sceptic."
    assert spec.options == {"seed": 1}


def test_a_key_is_read_from_the_variable_that_a_member_names(configured):
    text = BOARD + 'backend = "openai"\nbase_url = "http://127.0.0.1:8080"\noptions = {api_key_env = "JUDGE_KEY"}\n'
    settings = configured(text, JUDGE_KEY=" s3cret\n")
    assert settings.connections.api_keys == {"http://127.0.0.1:8080": "s3cret"}
    assert settings.members[2].options == {}


# --- faults -------------------------------------------------------------------------------------------------------

TIMEOUT = "[council]\nmember_timeout_s = {}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("[council\n", [], id="broken"),
        pytest.param("[council]\nmax_loops = 1\nmax_loops = 2\n", [], id="a key twice"),
        pytest.param("[cuoncil]\n", ["cuoncil"], id="an unknown table"),
        pytest.param("max_loops = 1\n", ["max_loops"], id="a key outside its table"),
        pytest.param("council = 3\n", ["council", "table"], id="a table that is a number"),
        pytest.param(
            "[council]\nmember_timeuot_s = 3\n", ["member_timeuot_s", "member_timeout_s"], id="a typing error"
        ),
        pytest.param("[ollama]\nhost = 'x'\n", ["ollama", "host"], id="an unknown key of ollama"),
        pytest.param(BOARD + "modle = 'x'\n", ["'c'", "modle"], id="an unknown key of a member"),
        pytest.param(TIMEOUT.format("'soon'"), ["member_timeout_s", "soon"], id="words for a number"),
        pytest.param(TIMEOUT.format("'10'"), ["member_timeout_s"], id="a number in a string"),
        pytest.param(TIMEOUT.format("true"), ["member_timeout_s"], id="true for a number"),
        pytest.param(TIMEOUT.format("0"), ["member_timeout_s", "0"], id="no time at all"),
        pytest.param(TIMEOUT.format("-1"), ["member_timeout_s", "-1"], id="less than no time"),
        pytest.param(TIMEOUT.format("nan"), ["member_timeout_s", "nan"], id="NaN"),
        pytest.param(TIMEOUT.format("inf"), ["member_timeout_s", "inf"], id="for ever"),
        pytest.param(TIMEOUT.format("[10]"), ["member_timeout_s"], id="a list"),
        pytest.param(TIMEOUT.format("2026-01-01"), ["member_timeout_s"], id="a date"),
        pytest.param("[council]\ndeadline_s = 0\n", ["deadline_s"], id="no deadline"),
        pytest.param("[council]\nload_wait_s = -1\n", ["load_wait_s"], id="a negative wait"),
        pytest.param("[council]\ncache_ttl_s = -1\n", ["cache_ttl_s"], id="a negative age"),
        pytest.param("[council]\nmax_loops = 4\n", ["max_loops", "4", "3"], id="four loops"),
        pytest.param("[council]\nmax_loops = 0\n", ["max_loops", "0"], id="no loop"),
        pytest.param("[council]\nmax_loops = 2.0\n", ["max_loops"], id="a fraction of loops"),
        pytest.param("[council]\nmax_loops = true\n", ["max_loops"], id="true loops"),
        pytest.param("[council]\nmax_parallel_per_model = 0\n", ["max_parallel_per_model"], id="no call in flight"),
        pytest.param("[ollama]\nnum_ctx = 'big'\n", ["num_ctx", "big"], id="words for a window"),
        pytest.param("[ollama]\nnum_ctx = 0\n", ["num_ctx"], id="no window"),
        pytest.param("[ollama]\nkeep_alive = '30 minutes'\n", ["keep_alive"], id="no duration"),
        pytest.param("[member]\nid = 'a'\n", ["member"], id="one table for the list"),
        pytest.param("member = []\n", ["member"], id="an empty list of members"),
        pytest.param("member = ['a']\n", ["member"], id="names for members"),
        pytest.param(MEMBER.format("a", "member"), ["contrarian"], id="no contrarian"),
        pytest.param(BOARD + MEMBER.format("d", "contrarian"), ["contrarian", "c", "d"], id="two contrarians"),
        pytest.param(
            MEMBER.format("a", "member") + MEMBER.format("c", "contrarian"), ["2", "contrarian"], id="one other"
        ),
        pytest.param(MEMBER.format("a", "member") + BOARD, ["'a'", "twice"], id="an id twice"),
        pytest.param(BOARD + "[[member]]\nid = 'd'\nrole = 'member'\n", ["'d'", "model"], id="no model"),
        pytest.param(BOARD + "[[member]]\nid = 'd'\nmodel = 'm'\n", ["'d'", "role"], id="no role"),
        pytest.param(BOARD + "[[member]]\nmodel = 'm'\nrole = 'member'\n", ["4", "id"], id="no id"),
        pytest.param(BOARD + "[[member]]\nid = ''\nmodel = 'm'\nrole = 'member'\n", ["id"], id="an empty id"),
        pytest.param(
            BOARD + "[[member]]\nid = 4\nmodel = 'm'\nrole = 'member'\n", ["id", "4"], id="a number for an id"
        ),
        pytest.param(BOARD + "[[member]]\nid = 'd'\nmodel = ''\nrole = 'member'\n", ["'d'", "model"], id="empty model"),
        pytest.param(BOARD + MEMBER.format("d", "judge"), ["'d'", "role", "judge", "contrarian"], id="a role unknown"),
        pytest.param(BOARD + "backend = 'vllm'\n", ["'c'", "backend", "vllm", "ollama"], id="a backend unknown"),
        pytest.param(BOARD + "backend = 'openai'\n", ["'c'", "base_url"], id="openai without an address"),
        pytest.param(BOARD + "base_url = 'ftp://x'\n", ["'c'", "base_url", "ftp"], id="a member's address"),
        pytest.param(BOARD + "timeout_s = 0\n", ["'c'", "timeout_s"], id="a member without time"),
        pytest.param(BOARD + "options = 3\n", ["'c'", "options"], id="options that are no table"),
        pytest.param(BOARD + "options = {stop = nan}\n", ["'c'", "options"], id="options that JSON cannot carry"),
        pytest.param(BOARD + "options = {at = 2026-01-01}\n", ["'c'", "options"], id="a date in the options"),
        pytest.param(BOARD + "options = {persona = 3}\n", ["'c'", "persona"], id="a persona that is no text"),
        pytest.param(
            BOARD + "base_url = 'http://x'\noptions = {api_key_env = 'UNSET'}\n", ["'c'", "api_key_env"], id="no key"
        ),
        pytest.param(
            BOARD.replace('"m"', '"big:480b-cloud"', 1), ["'a'", "big:480b-cloud"], id="a model that is not local"
        ),
    ],
)
def test_a_fault_in_the_file_names_file_key_and_reason(fault, tmp_path, text, words):
    message = fault(text)
    for word in [str(tmp_path / "council.toml"), *words]:
        assert word in message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"council": {"member_timeuot_s": 3}}, ["member_timeuot_s"]),
        ({"council": {"max_loops": "many"}}, ["max_loops", "many"]),
        ({"council": {"max_loops": None}}, ["max_loops"]),
        ({"council": []}, ["council", "table"]),
        ({"cuoncil": {}}, ["cuoncil"]),
        ({"member": OPTION_BOARD[:2]}, ["member", "2"]),
        ({"member": {}}, ["member"]),
        ({"member": [None]}, ["member", "1"]),
        ({"member": "abc"}, ["member"]),
        ("fast", ["fast"]),
        ([], []),
        (3, ["3"]),
    ],
)
def test_a_fault_in_the_options_names_them_key_and_reason(fault, options, words):
    message = fault(options=options)
    for word in ["initializationOptions", *words]:
        assert word in message


@pytest.mark.parametrize("options", [None, {}, {"council": {}}, {"council": None, "member": None}])
def test_options_that_say_nothing(configured, options):
    assert configured(options=options).council == CouncilSettings()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("MAX_LOOPS", "many"),
        ("MAX_LOOPS", "4"),
        ("MAX_LOOPS", "1.5"),
        ("MEMBER_TIMEOUT_S", "soon"),
        ("MEMBER_TIMEOUT_S", "nan"),
        ("MEMBER_TIMEOUT_S", "0"),
        ("DEADLINE_S", "-5"),
        ("CACHE_TTL_S", "1 day"),
    ],
)
def test_a_fault_in_a_variable_names_it_and_the_reason(fault, key, value):
    message = fault(**{f"NEURON_COUNCIL_{key}": value})
    assert f"NEURON_COUNCIL_{key}" in message
    assert value in message


def test_an_unknown_variable_is_said_and_ignored(configured):
    settings = configured(NEURON_COUNCIL_MAX_LOPS="1", NEURON_COUNCIL_BASE_URL="x", OTHER="y")
    assert settings.council == CouncilSettings()
    assert len(settings.warnings) == 2
    for name in ("NEURON_COUNCIL_MAX_LOPS", "NEURON_COUNCIL_BASE_URL"):
        assert sum(name in warning for warning in settings.warnings) == 1


def test_the_first_fault_of_a_lower_source_is_not_hidden_by_a_higher_one(fault):
    """A file at fault is mended at once, though a variable would override its key."""
    assert "council.toml" in fault("[council]\nmax_loops = 9\n", NEURON_COUNCIL_MAX_LOOPS="1")


@pytest.mark.parametrize(
    ("write", "word"),
    [
        pytest.param(lambda path: path.write_bytes(b"# \xff\n"), "UTF-8", id="not UTF-8"),
        pytest.param(lambda path: path.mkdir(), "directory", id="a folder"),
        pytest.param(lambda path: path.write_text("x = " + "[" * 5000), "", id="too many levels"),
    ],
)
def test_a_file_that_cannot_be_read(fault, tmp_path, write, word):
    write(tmp_path / "council.toml")
    message = fault()
    assert str(tmp_path / "council.toml") in message
    assert word in message


def test_options_of_too_many_levels(fault):
    deep = {}
    for _ in range(5000):
        deep = {"a": deep}
    members = [{**OPTION_BOARD[0], "options": deep}, *OPTION_BOARD[1:]]
    assert "initializationOptions" in fault(options={"member": members})


def test_a_long_value_is_cut_in_the_message(fault):
    assert len(fault(options={"council": {"max_loops": "x" * 10_000}})) < 400
    assert len(fault(options={"council": {"x" * 10_000: 1}})) < 400
    assert len(fault(options={"x" * 10_000: 1})) < 400


@pytest.mark.parametrize("options", ["temprature = 1", 'seed = "7"', "temperature = true"])
def test_an_option_that_the_embedded_backend_cannot_use_is_a_fault_of_the_file(tmp_path, options):
    members = "\n".join(
        f'[[member]]\nid = "m{n}"\nmodel = "smollm2:135m"\nrole = "{role}"\nbackend = "embedded"\n'
        for n, role in enumerate(("member", "member", "contrarian"))
    )
    (tmp_path / "council.toml").write_text(f"{members}options = {{ {options} }}\n")
    with pytest.raises(ConfigError, match=rf"council\.toml.*m2.*options.*{options.split()[0]}"):
        load(tmp_path, {})


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "council.toml")
    with pytest.raises(ConfigError, match="pipe"):
        load(tmp_path, {})


def test_a_number_of_too_many_digits_is_a_fault_of_the_file(tmp_path):
    (tmp_path / "council.toml").write_text(f"[council]\nmax_loops = {'1' * 5000}\n")
    with pytest.raises(ConfigError, match=r"council\.toml.*digits"):
        load(tmp_path, {})


def test_a_byte_order_mark_is_no_fault(tmp_path):
    (tmp_path / "council.toml").write_text("[council]\nmax_loops = 2\n", "utf-8-sig")
    assert load(tmp_path, {}).council.max_loops == 2


def test_a_password_is_not_repeated(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {"OLLAMA_HOST": "http://me:hush@example.com"})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("text", ["\u0661\u0660", "1_0"])
def test_a_number_is_written_in_plain_digits(tmp_path, text):
    with pytest.raises(ConfigError, match="NEURON_COUNCIL_DEADLINE_S"):
        load(tmp_path, {"NEURON_COUNCIL_DEADLINE_S": text})
