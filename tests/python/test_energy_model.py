"""The energy model gives the figures of docs/papers/dr-swap.md."""

import json

import pytest
from models.energy import DRAM, PCM, flash_energy, memory_energy, schemes
from swaplab import _core

MIB = 1 << 20


def one_page(memory, mode, copies, swap_outs):
    """Compute microseconds and nanojoules of one page, without background."""
    cost = memory_energy(memory, mode, 0, 0.0, copies, swap_outs)
    return cost["busy_s"] * 1e6, (cost["total_j"] - cost["background_j"]) * 1e9


@pytest.mark.parametrize(
    ("mode", "dram_us", "dram_nj", "pcm_us", "pcm_nj"),
    [
        # DRAM, paper: 128 bursts x (4 + 6) cycles + 4, at 2.5 ns; literal 4 + 15; physical 128 x
        # 4 + 4 cycles and 15 ns once.
        ("paper", 3.210, 1082.35, 8.965, 3601.11),
        ("literal", 6.090, 2011.73, 24.325, 9571.54),
        ("physical", 1.305, 467.61, 5.140, 2114.33),
    ],
)
def test_a_page_written(mode, dram_us, dram_nj, pcm_us, pcm_nj):
    assert one_page(DRAM, mode, 0, 1) == (pytest.approx(dram_us, abs=5e-4), pytest.approx(dram_nj, abs=5e-3))
    assert one_page(PCM, mode, 0, 1) == (pytest.approx(pcm_us, abs=5e-4), pytest.approx(pcm_nj, abs=5e-3))


@pytest.mark.parametrize("mode", ["paper", "literal", "physical"])
def test_a_page_read(mode):
    assert one_page(DRAM, mode, 1, 0) == (pytest.approx(1.295), pytest.approx(465.29, abs=5e-3))
    assert one_page(PCM, mode, 1, 0) == (pytest.approx(5.135), pytest.approx(1678.48, abs=5e-3))


def test_flash_is_bus_time_only():
    read, write = flash_energy("paper", 0.0, 1, 0), flash_energy("paper", 0.0, 0, 1)
    assert read["busy_s"] * 1e6 == pytest.approx(79.4, abs=0.05)
    assert write["busy_s"] * 1e6 == pytest.approx(88.6, abs=0.05)
    assert read["read_j"] * 1e6 == pytest.approx(26.2, abs=0.05)
    assert write["write_j"] * 1e6 == pytest.approx(29.2, abs=0.05)
    assert flash_energy("paper", 900.0, 0, 0)["total_j"] == pytest.approx(1.04, abs=0.005)


def test_physical_flash_adds_the_cells_time():
    assert flash_energy("physical", 0.0, 1, 0)["busy_s"] * 1e6 == pytest.approx(79.385 + 25, abs=1e-3)
    assert flash_energy("physical", 0.0, 0, 1)["busy_s"] * 1e6 == pytest.approx(88.615 + 100, abs=1e-3)


@pytest.mark.parametrize(("swap_mib", "dram_j", "saving"), [(128, 19.04, 59.3), (256, 20.43, 62.1), (512, 23.22, 66.7)])
def test_background_alone(swap_mib, dram_j, saving):
    idle = schemes("paper", swap_mib * MIB, 900.0, 0, 0, 0)
    assert idle["dram"]["total_j"] == pytest.approx(dram_j, abs=0.006)  # 19.035 is printed as 19.04
    assert idle["nvm-direct"]["total_j"] == pytest.approx(7.74)
    assert (1 - idle["nvm-direct"]["total_j"] / idle["dram"]["total_j"]) * 100 == pytest.approx(saving, abs=0.05)


def test_the_worked_check():
    run = schemes("paper", 128 * MIB, 900.0, 3298, 3298 - 1066, 10000)
    assert run["dram"]["total_j"] == pytest.approx(19.047, abs=5e-4)
    assert run["nvm-direct"]["total_j"] == pytest.approx(7.778, abs=5e-4)
    assert run["flash"]["total_j"] == pytest.approx(1.417, abs=5e-4)
    # N x t of one page: 3298 x 1.295 us + 10000 x 3.210 us, 1066 x 5.135 us + 10000 x 8.965 us.
    assert run["dram"]["busy_s"] == pytest.approx(0.03637091)
    assert run["nvm-direct"]["busy_s"] == pytest.approx(0.09512391)
    for swap_mib, saving in [(128, 59.2), (256, 62.0), (512, 66.5)]:
        run = schemes("paper", swap_mib * MIB, 900.0, 3298, 3298 - 1066, 10000)
        assert (1 - run["nvm-direct"]["total_j"] / run["dram"]["total_j"]) * 100 == pytest.approx(saving, abs=0.06)


def test_literal_keeps_every_swap_in_in_two_terms_of_eq_14():
    # 10 swap-ins, 4 of them direct: t_RD has 6 of them; the t_RCD term of t_ACT and t_DQ have 10.
    literal = schemes("literal", 0, 0.0, 10, 4, 0)["nvm-direct"]
    assert literal["read_j"] == pytest.approx(6 * 5135e-9 * 0.1482)
    assert literal["activate_j"] == pytest.approx((6 * 5135e-9 + 10 * 80e-9) * 0.156)
    assert literal["io_j"] == pytest.approx(10 * 5120e-9 * 0.0203)


def test_physical_charges_a_line_for_each_direct_read():
    # A line takes 4 bursts x 4 cycles = 16 cycles of 5 ns, and 3 cycles RL: 95 ns.
    physical = schemes("physical", 0, 0.0, 1, 1, 0)["nvm-direct"]
    assert physical["busy_s"] == pytest.approx(95e-9)
    assert physical["activate_j"] == pytest.approx((95e-9 + 80e-9) * 0.156)
    assert physical["io_j"] == pytest.approx(80e-9 * 0.0203)
    assert schemes("paper", 0, 0.0, 1, 1, 0)["nvm-direct"]["total_j"] == 0.0


def test_physical_background_is_one_state_at_a_time_and_scales():
    idle = schemes("physical", 512 * MIB, 1.0, 0, 0, 0)
    assert idle["dram"]["background_j"] == pytest.approx((1.2 + 12.4) / 2 * 1e-3)
    assert idle["nvm-direct"]["background_j"] == pytest.approx(0.2 / 2 * 1e-3)


@pytest.mark.parametrize("mode", ["paper", "literal", "physical"])
@pytest.mark.parametrize(
    ("swap_mib", "seconds", "swap_ins", "direct_reads", "swap_outs", "lines"),
    [(128, 900.0, 3298, 2232, 10000, 64), (512, 60.0, 50, 50, 7, 1)],
)
def test_the_core_computes_the_same(mode, swap_mib, seconds, swap_ins, direct_reads, swap_outs, lines):
    core = json.loads(_core.energy(f"{swap_mib}MiB", seconds, swap_ins, direct_reads, swap_outs, lines, mode))
    ours = schemes(mode, swap_mib * MIB, seconds, swap_ins, direct_reads, swap_outs, lines)
    for scheme, parts in ours.items():
        assert core[scheme] == pytest.approx(parts, rel=1e-9), scheme
