"""DR.Swap's energy model: equations (1) to (14) of Zhong et al. 2016 with Table II, in the three
modes of docs/papers/dr-swap.md.

Powers in mW, times in ns, so that a product is in pJ; results in joules and seconds.

Where the text is ambiguous, this model assumes:

1. `physical` background: active standby during t_ACT, precharge power-down the rest of the time
   ("weighted by residency" in docs/papers/dr-swap.md, without naming the states).
2. `physical` scales every background power, PCM's too, with swap size / chip size; t_ACT's share of
   the run does not depend on the size.
3. `physical` direct read: one cache line of 64 bytes a direct read unless told otherwise: an
   activation, RL and 4 bursts. The bus energy of the line is counted, no write. It takes time, so
   it is part of busy_s.
4. `physical` NAND: Table I's tR = 25 us (the upper end of 10 to 25) and tPROG = 100 us for each 4
   KiB page, at the read and write currents.
5. `literal` follows Eq. (14) to the letter for PCM: N'_rd in t_RD only, N_rd in the t_RCD term of
   t_ACT and in t_DQ; t_ACT contains t_RD, hence N'_rd.
6. REF scales in all modes; flash background is its standby energy, and flash has neither activation
   nor I/O energy.
"""

from __future__ import annotations

from dataclasses import dataclass

PAGE_BITS = 4096 * 8
LINE_BITS = 64 * 8


@dataclass(frozen=True)
class Memory:
    pre_pdn: float
    pre_stby: float
    act_pdn: float
    act_stby: float
    ref: float
    act: float
    rd: float
    wr: float
    dq: float
    t_ck: float
    t_rcd: float
    t_wr: float
    rl: int
    wl: int
    bl: int
    bw: int


DRAM = Memory(1.2, 6.8, 2.3, 9.3, 12.4, 76.7, 246.7, 246.0, 33.8, 2.5, 42.0, 15.0, 6, 4, 8, 32)
PCM = Memory(0.2, 3.5, 0.1, 4.8, 0.0, 156.0, 148.2, 232.7, 20.3, 5.0, 80.0, 15.0, 3, 1, 8, 16)
CHIP_BYTES = 1 << 30

FLASH_MHZ, FLASH_VOLT, FLASH_READ_MA, FLASH_WRITE_MA, FLASH_STANDBY_MA = 26.0, 3.3, 100.0, 100.0, 0.350
FLASH_RL, FLASH_WL, FLASH_BLOCK_BYTES, FLASH_BW = 2, 32, 512, 8
NAND_READ_NS, NAND_PROGRAM_NS = 25_000.0, 100_000.0


def bursts(m: Memory, bits: int = PAGE_BITS) -> float:
    return bits / (m.bl * m.bw)


def read_ns(m: Memory, pages: int) -> float:
    """Compute Eq. (2) and (14)."""
    return (pages * bursts(m) * m.bl / 2 + pages * m.rl) * m.t_ck


def write_ns(m: Memory, pages: int, mode: str) -> float:
    """Compute Eq. (3), with t_WR of the cells in cycles, as a plain number, or once per page,
    depending on `mode`.
    """
    if mode == "physical":
        return pages * ((bursts(m) * m.bl / 2 + m.wl) * m.t_ck + m.t_wr)
    recovery = m.t_wr / m.t_ck if mode == "paper" else m.t_wr
    return (pages * bursts(m) * (m.bl / 2 + recovery) + pages * m.wl) * m.t_ck


def memory_energy(
    m: Memory,
    mode: str,
    swap_bytes: int,
    seconds: float,
    copies: int,
    swap_outs: int,
    swap_ins: int | None = None,
    direct_reads: int = 0,
    lines: int = 1,
) -> dict[str, float]:
    """Compute Eq. (1) to (5), (13), (14). `copies` is N'_rd; `swap_ins` is N_rd if it differs."""
    counted = copies if swap_ins is None or mode != "literal" else swap_ins
    t_rd = read_ns(m, copies)
    t_wr = write_ns(m, swap_outs, mode)
    t_act = t_rd + t_wr + (counted + swap_outs) * m.t_rcd
    t_dq = (counted + swap_outs) * bursts(m) * m.bl / 2 * m.t_ck
    if mode == "physical":
        line_driven = bursts(m, LINE_BITS) * m.bl / 2 * m.t_ck
        touched = direct_reads * lines
        t_rd += touched * (line_driven + m.rl * m.t_ck)
        t_act += touched * (line_driven + m.rl * m.t_ck + m.t_rcd)
        t_dq += touched * line_driven
    share = swap_bytes / CHIP_BYTES
    total = seconds * 1e9
    if mode == "physical":
        background = share * (m.act_stby * t_act + m.pre_pdn * (total - t_act) + m.ref * total)
    else:
        background = (m.pre_pdn + m.pre_stby + m.act_pdn + m.act_stby + m.ref * share) * total
    return document(background, m.act * t_act, m.rd * t_rd, m.wr * t_wr, m.dq * t_dq, t_rd + t_wr)


def flash_energy(mode: str, seconds: float, swap_ins: int, swap_outs: int) -> dict[str, float]:
    """Compute Eq. (6) to (12)."""
    cycle = 1e3 / FLASH_MHZ
    blocks = 4096 / FLASH_BLOCK_BYTES
    t_rd = cycle * (FLASH_BLOCK_BYTES * 8 / (2 * FLASH_BW) + FLASH_RL) * blocks * swap_ins
    t_wr = cycle * (FLASH_BLOCK_BYTES * 8 / (2 * FLASH_BW) + FLASH_WL) * blocks * swap_outs
    if mode == "physical":
        t_rd += NAND_READ_NS * swap_ins
        t_wr += NAND_PROGRAM_NS * swap_outs
    t_stby = seconds * 1e9 - t_rd - t_wr
    return document(
        FLASH_VOLT * FLASH_STANDBY_MA * t_stby, 0.0, FLASH_VOLT * FLASH_READ_MA * t_rd, FLASH_VOLT * FLASH_WRITE_MA * t_wr, 0.0, t_rd + t_wr
    )


def document(background: float, activate: float, read: float, write: float, io: float, busy_ns: float) -> dict[str, float]:
    picojoules = {"background_j": background, "activate_j": activate, "read_j": read, "write_j": write, "io_j": io}
    joules = {name: value * 1e-12 for name, value in picojoules.items()}
    return joules | {"total_j": sum(joules.values()), "busy_s": busy_ns * 1e-9}


def schemes(
    mode: str, swap_bytes: int, seconds: float, swap_ins: int, direct_reads: int, swap_outs: int, lines: int = 1
) -> dict[str, dict[str, float]]:
    """Compute the output of `swaplab papers energy`. N counts every swap-in; DR.Swap copies N - M
    of them, the two others copy all.
    """
    copies = swap_ins - direct_reads
    return {
        "dram": memory_energy(DRAM, mode, swap_bytes, seconds, swap_ins, swap_outs),
        "flash": flash_energy(mode, seconds, swap_ins, swap_outs),
        "nvm-direct": memory_energy(PCM, mode, swap_bytes, seconds, copies, swap_outs, swap_ins, direct_reads, lines),
    }
