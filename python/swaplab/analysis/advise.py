"""Advice on a phone's settings: designs that differ from the current one, `now`, are simulated and
compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from swaplab.analysis.outcomes import memory_was_tight
from swaplab.analysis.recommend import Recommendation, recommend
from swaplab.analysis.recommend.settings import COMPACTION, COMPACTION_VALUES
from swaplab.analysis.registry import Entry, killers, parts_of, policies, schemes, text_of
from swaplab.core.errors import BadInput
from swaplab.core.model import Compact, Design, Document, Experiment, Vary

NOW, NO_SWAP = "now", "no swap"
#: The setting for the choice of the swap scheme.
SWAP = "swap"
KILLER = "lmkd"
#: The design without app compaction, and the key that it sets.
NOT_COMPACTED, COMPACT = "no app compaction", "machine.background.compact"
#: The assumed zram of a phone whose settings are unknown: half of memory with lz4
#: (presets/android-15.toml has the sources).
ZRAM = "zram:size=50%,algorithm=lz4"
#: Tried sizes of zram, in percent of memory. Where the phone has none, others are compared with the
#: first.
SIZES = ("50%", "25%", "75%", "100%")
#: The algorithm that is tried for recompression: mmd's default (docs/models/swap.md).
RECOMPRESSION = "zstd"
#: The least number of runs for each thread in a group of designs.
RUNS_OF_A_THREAD = 6
#: Tried values: parameter, its value, and the value that is tried if this one is set already.
#: filecache_min_kb as on Google's Pixels (hardware/google/pixel@9d92ba61, mm/device_gki.mk); the
#: others are ours.
SWAPPINESS = ("swappiness", "100", "60")
LMKD = (
    ("thrashing_limit", "30", "100"),
    ("swap_free_low_percentage", "20", "10"),
    ("filecache_min_kb", "153600", "0"),
    ("swap_util_max", "80", "100"),
)


@dataclass(frozen=True)
class Choice:
    """An entry of a registry with its parameters."""

    key: str
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str) -> Choice:
        key, parameters = parts_of(text)
        return cls(key, tuple(parameters.items()))

    def with_parameters(self, **parameters: str) -> Choice:
        """Return the choice with some parameters changed."""
        return replace(self, parameters=tuple({**dict(self.parameters), **parameters}.items()))

    def as_key(self, key: str) -> Choice:
        """Return another entry with those of the parameters that it has, too."""
        known = {parameter.name for parameter in schemes()[key].parameters}
        return Choice(key, tuple((name, value) for name, value in self.parameters if name in known))

    def value(self, registry: dict[str, Entry], name: str) -> str:
        """Return the value of a parameter, given or by default; empty if the entry has no such
        parameter.
        """
        defaults = {parameter.name: parameter.default for parameter in registry[self.key].parameters}
        return dict(self.parameters).get(name, defaults.get(name, ""))

    @property
    def text(self) -> str:
        given = ",".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.key}:{given}" if given else self.key


@dataclass(frozen=True)
class Phone:
    """The settings of a phone that are advised on."""

    swap: Choice
    policy: Choice
    killer: Choice
    #: `machine.background.compact`.
    compact: Compact

    def design(self, name: str) -> Design:
        return Design(name=name, swap=self.swap.text, policy=self.policy.text, killer=self.killer.text)


def current(base: Experiment, given: Sequence[str]) -> Phone:
    """Return the phone's current settings: AOSP's on the machine of `base`, changed by `given`.

    `given`: `SETTING=VALUE`, with the names that the kernel and Android use, or `swap=SCHEME`.
    Raises BadInput for an unknown setting.
    """
    machine = base.machine
    policy = Choice.of(text_of(machine.kernel.policy) or "mglru")
    if machine.kernel.swappiness is not None and policy.key in policies() and policy.value(policies(), "swappiness"):
        policy = Choice(policy.key, (("swappiness", str(machine.kernel.swappiness)), *policy.parameters))
    killer = Choice.of(text_of(machine.killer) or KILLER)
    phone = Phone(Choice.of(ZRAM), policy, killer if killer.key == KILLER else Choice(KILLER), machine.background.compact)
    pairs = [_pair(text) for text in given]
    for _, value in (pair for pair in pairs if pair[0] == SWAP):
        scheme = Choice.of(value)
        if scheme.key not in schemes():
            raise BadInput(f"--now swap={value}: no such scheme; expected one of: {' '.join(schemes())}")
        missing = tuple(pair for pair in phone.swap.as_key(scheme.key).parameters if pair[0] not in dict(scheme.parameters))
        phone = replace(phone, swap=Choice(scheme.key, (*missing, *scheme.parameters)))
    for name, value in (pair for pair in pairs if pair[0] != SWAP):
        phone = _with_setting(phone, name, value)
    return phone


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = (word.strip() for word in text.partition("="))
    if not equals or not value:
        raise BadInput(f"--now '{text}': no value; expected SETTING=VALUE, such as vm.swappiness=100 or swap=none")
    return name, value


def _with_setting(phone: Phone, name: str, value: str) -> Phone:
    if name == COMPACTION:
        kinds = [kind for kind, text in COMPACTION_VALUES.items() if text == value]
        if not kinds:
            raise BadInput(f"--now {name}={value}: no such value; expected one of: {' '.join(COMPACTION_VALUES.values())}")
        return replace(phone, compact=kinds[0])
    known = [SWAP]
    parts: tuple[tuple[Choice, dict[str, Entry], Callable[[Choice], Phone]], ...] = (
        (phone.swap, schemes(), lambda changed: replace(phone, swap=changed)),
        (phone.policy, policies(), lambda changed: replace(phone, policy=changed)),
        (phone.killer, killers(), lambda changed: replace(phone, killer=changed)),
    )
    for choice, registry, changed_phone in parts:
        for parameter in registry[choice.key].parameters if choice.key in registry else ():
            if parameter.setting is None:
                continue
            if name == parameter.setting.name:
                return changed_phone(choice.with_parameters(**{parameter.name: value}))
            known.append(parameter.setting.name)
    raise BadInput(f"--now {name}={value}: no such setting under {phone.swap.key}; expected one of: {' '.join([*known, COMPACTION])}")


def candidates(now: Phone) -> dict[str, Phone]:
    """Return the phones to simulate by name: `now`, without swap, and changes of one setting,
    except zstd together with write-back.
    """
    found = {NOW: now, NO_SWAP: replace(now, swap=Choice("none"))}
    zram = now.swap if now.swap.key in ("zram", "tiered") else Choice.of(ZRAM)
    for size in SIZES:
        found[f"zram of {size.replace('%', ' %')}"] = replace(now, swap=zram.with_parameters(size=size))
    other = "lz4" if zram.value(schemes(), "algorithm") == "zstd" else "zstd"
    found[other] = replace(now, swap=_compressed_by(other, zram))
    if zram.key == "zram" and zram.value(schemes(), "algorithm") != RECOMPRESSION:
        recompress = "off" if zram.value(schemes(), "recompress") == RECOMPRESSION else RECOMPRESSION
        label = "recompression" if recompress == RECOMPRESSION else "no recompression"
        found[label] = replace(now, swap=zram.with_parameters(recompress=recompress))
    backed, label = (zram.as_key("zram"), "no write-back") if zram.key == "tiered" else (_with_write_back(zram), "write-back")
    found[label] = replace(now, swap=backed)
    found[f"{other}, {label}"] = replace(now, swap=_compressed_by(other, backed))
    if now.policy.key in policies() and (swappiness := now.policy.value(policies(), SWAPPINESS[0])):
        value = _other_value(swappiness, SWAPPINESS)
        found[f"swappiness {value}"] = replace(now, policy=now.policy.with_parameters(swappiness=value))
    if now.compact != "off" and now.swap.key != "none":
        found[NOT_COMPACTED] = replace(now, compact="off")
    for parameter in LMKD:
        value = _other_value(now.killer.value(killers(), parameter[0]), parameter)
        found[f"{parameter[0]} {value}"] = replace(now, killer=now.killer.with_parameters(**{parameter[0]: value}))
    # One of the sizes may be the current one, and the phone may have no swap.
    return {name: phone for name, phone in found.items() if name == NOW or phone != now}


def _compressed_by(algorithm: str, swap: Choice) -> Choice:
    """Change the algorithm; recompression by the same one would have no effect."""
    recompressed = swap.value(schemes(), "recompress") == algorithm
    return swap.with_parameters(algorithm=algorithm, **({"recompress": "off"} if recompressed else {}))


def _with_write_back(zram: Choice) -> Choice:
    """Add write-back at the requests of AOSP's ZramWriteback, not whenever a page becomes idle."""
    tiered = zram.as_key("tiered")
    return tiered.with_parameters(request="android") if any(known.name == "request" for known in schemes()["tiered"].parameters) else tiered


def _other_value(value: str, tried: tuple[str, str, str]) -> str:
    return tried[2] if value == tried[1] else tried[1]


def experiment(base: Experiment, launches: str, draws: int, now: Phone, about: str = "") -> Experiment:
    """Build the experiment of all candidates on the machine and apps of `base`; `parts` are what is
    run of it. Each of the `draws` runs draws its own app sizes.

    `about`: what is known of the errors of a fitted phone; results repeat it.
    """
    designs = [phone.design(name) for name, phone in candidates(now).items()]
    workload = base.workload.model_copy(update={"launches": launches, "trace": None})
    run = base.run.model_copy(update={"on": ["phone"], "seeds": draws})
    background = base.machine.background.model_copy(update={"compact": now.compact})
    machine = base.machine.model_copy(update={"background": background})
    changes = {"name": "advice", "about": about, "machine": machine, "design": designs, "workload": workload, "run": run, "vary": None}
    return base.model_copy(update=changes)


def parts(wanted: Experiment, threads: int) -> Iterator[Experiment]:
    """Split the experiment into groups of designs. Groups that are done survive an interrupt; each
    has several runs for each of `threads` threads, for at its end threads wait for the last run.

    The first group is `now` and one more; one of the two has no swap. The next is `now` without app
    compaction, which pages out apps although memory would do: a phone whose memory is never tight
    has nothing else to change.
    """
    size = math.ceil(RUNS_OF_A_THREAD * threads / max(1, wanted.run.seeds or 1))
    designs = [design for design in wanted.design if design.name != NOT_COMPACTED]
    yield wanted.model_copy(update={"design": designs[:2]})
    # Compaction is a setting of the machine, so this design differs in the point of its row.
    if not_compacted := [design for design in wanted.design if design.name == NOT_COMPACTED]:
        yield wanted.model_copy(update={"design": not_compacted, "vary": Vary(**{COMPACT: ["off"]})})
    for start in range(2, len(designs), size):
        yield wanted.model_copy(update={"design": designs[start : start + size]})


def count_tried_first(wanted: Experiment) -> int:
    """The number of designs that are simulated even if memory is never tight."""
    return 2 + sum(design.name == NOT_COMPACTED for design in wanted.design)


def joined(documents: Sequence[Document]) -> Document:
    """Join the documents of the groups that are done."""
    first = documents[0]
    designs = [design for document in documents for design in document.experiment.design]
    return first.model_copy(
        update={
            "experiment": first.experiment.model_copy(update={"design": designs}),
            "rows": [row for document in documents for row in document.rows],
            "warnings": list(dict.fromkeys(line for document in documents for line in document.warnings)),
        }
    )


def memory_is_tight(document: Document) -> bool:
    """Whether memory was ever tight without swap. With swap, app compaction fills the swap area
    even if there is memory to spare.
    """
    return bool(memory_was_tight([row for row in document.rows if row.swap == "none"]))


def advise(document: Document, goal: str | None = None) -> Recommendation:
    """Derive the recommendation from a run of `experiment`. Intervals are over draws of app sizes,
    for the one user of the launches.
    """
    return recommend([("advice", document)], goal, NOW, each_draw=True, only_from_baseline=True)
