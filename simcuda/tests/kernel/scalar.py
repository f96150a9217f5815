# SPDX-License-Identifier: BSD-3-Clause
"""A second, simple evaluator of PTX: one thread at a time, one instruction after the other, from
the text. It knows what random programs use, and has nothing in common with the engine."""

import re

import exact

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def s32(value):
    return value - (1 << 32) if value >> 31 else value


def s64(value):
    return value - (1 << 64) if value >> 63 else value


def _f32(function):
    return lambda *values: function(exact.F32, *values, "rn")


OPERATIONS = {
    "add.u32": lambda a, b: a + b & M32,
    "sub.u32": lambda a, b: a - b & M32,
    "add.s64": lambda a, b: a + b & M64,
    "mul.lo.u32": lambda a, b: a * b & M32,
    "mul.hi.s32": lambda a, b: s32(a) * s32(b) >> 32 & M32,
    "mul.wide.u32": lambda a, b: a * b,
    "mul.wide.s32": lambda a, b: s32(a) * s32(b) & M64,
    "mad.lo.s32": lambda a, b, c: a * b + c & M32,
    "mad.wide.u32": lambda a, b, c: a * b + c & M64,
    "div.u32": lambda a, b: a // b if b else M32,
    "rem.u32": lambda a, b: a % b if b else M32,
    "min.s32": lambda a, b: min(s32(a), s32(b)) & M32,
    "max.u32": max,
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "xor.b64": lambda a, b: a ^ b,
    "not.b32": lambda a: a ^ M32,
    "shl.b32": lambda a, b: a << b & M32 if b < 32 else 0,
    "shr.u32": lambda a, b: a >> b if b < 32 else 0,
    "shr.s32": lambda a, b: s32(a) >> min(b, 31) & M32,
    "shr.u64": lambda a, b: a >> b if b < 64 else 0,
    "popc.b32": lambda a: bin(a).count("1"),
    "clz.b32": lambda a: 32 - a.bit_length(),
    "mov.u32": lambda a: a,
    "mov.b64": lambda a: a,
    "mov.b32": lambda a: a,
    "cvt.u32.u64": lambda a: a & M32,
    "cvt.s64.s32": lambda a: s32(a) & M64,
    "cvt.u64.u32": lambda a: a,
    "cvt.u32.u16": lambda a: a & 0xFFFF,
    "cvt.rn.f32.u32": lambda a: exact.F32.round(exact.Fraction(a)),
    "add.rn.f32": _f32(exact.add),
    "mul.rn.f32": _f32(exact.mul),
    "fma.rn.f32": _f32(exact.fma),
    "selp.b32": lambda a, b, c: a if c else b,
    "setp.lt.u32": lambda a, b: a < b,
    "setp.ge.s32": lambda a, b: s32(a) >= s32(b),
    "setp.eq.u32": lambda a, b: a == b,
    "setp.ne.u32": lambda a, b: a != b,
}


class Memory:
    def __init__(self):
        self.bytes = {}

    def load(self, address, size):
        return sum(self.bytes.get(address + i, 0) << 8 * i for i in range(size))

    def store(self, address, size, value):
        for i in range(size):
            self.bytes[address + i] = value >> 8 * i & 255


class Function:
    def __init__(self, name, arguments, body):
        self.name, self.arguments = name, arguments
        self.lines, self.labels = [], {}
        for line in re.findall(r"[^;{}:]+[;:]", body):
            line = line.strip()
            if line.endswith(":"):
                self.labels[line[:-1]] = len(self.lines)
            elif not line.startswith("."):
                self.lines.append(line[:-1])


def functions_of(text):
    text = re.sub(r"//.*", "", text)
    found = {}
    pattern = r"\.(?:entry|func)\s*(\([^)]*\))?\s*(\w+)\s*\(([^)]*)\)\s*\{(.*?)\n\}"
    for _, name, arguments, body in re.findall(pattern, text, re.S):
        names = [each.split()[-1] for each in arguments.split(",") if each.strip()]
        found[name] = Function(name, names, body)
    return found


class Block:
    """Threads are generators, which stop where they must wait for each other."""

    def __init__(self, functions, entry, parameters, memory, size, index, blocks):
        self.functions, self.entry, self.memory = functions, entry, memory
        self.shared = Memory()
        self.size, self.index, self.blocks = size, index, blocks
        self.parameters = dict(zip(functions[entry].arguments, parameters, strict=True))

    def run(self):
        threads = {t: self.thread(t) for t in range(self.size)}
        waiting = {}
        for thread in list(threads):
            self.go_on(threads, waiting, thread, None)
        while threads:
            kinds = {kind for kind, *_ in waiting.values()}
            if kinds == {"bar"}:
                for thread in sorted(threads):
                    self.go_on(threads, waiting, thread, None)
                continue
            for warp in {t // 32 for t, (kind, *_) in waiting.items() if kind == "warp"}:
                members = [t for t in waiting if t // 32 == warp]
                together = {t % 32: waiting[t] for t in members}
                answers = {t: self.exchange(together, t % 32) for t in members}
                for thread in sorted(members):
                    self.go_on(threads, waiting, thread, answers[thread])

    def go_on(self, threads, waiting, thread, answer):
        try:
            waiting[thread] = threads[thread].send(answer)
        except StopIteration:
            del threads[thread]
            waiting.pop(thread, None)

    def exchange(self, together, lane):
        _, op, values = together[lane]
        if op.startswith("shfl"):
            by, clamp = values[1] & 31, values[2] & 31
            segment = values[2] >> 8 & 31
            most = lane & segment | clamp & ~segment
            if ".up." in op:
                source, inside = lane - by, lane - by >= most
            elif ".down." in op:
                source, inside = lane + by, lane + by <= most
            elif ".bfly." in op:
                source, inside = lane ^ by, lane ^ by <= most
            else:
                source = lane & segment | by & ~segment
                inside = source <= most
            return together[source if inside else lane][2][0]
        votes = {other: each[2][0] for other, each in together.items()}
        if "ballot" in op:
            return sum(1 << other for other, value in votes.items() if value)
        if op.startswith("redux.sync.add"):
            return sum(votes.values()) & M32
        if op.startswith("redux.sync.max.u32"):
            return max(votes.values())
        if op.startswith("match.any"):
            return sum(1 << other for other, value in votes.items() if value == votes[lane])
        raise ValueError(op)

    def thread(self, tid):
        special = {
            "%tid.x": tid,
            "%ctaid.x": self.index,
            "%ntid.x": self.size,
            "%nctaid.x": self.blocks,
            "%laneid": tid % 32,
            "buffer": 0,
        }
        yield from self.execute(self.functions[self.entry], special, self.parameters)

    def execute(self, function, special, parameters):
        registers = {}
        slots = dict(parameters)  # of .param
        local = Memory()
        pc = 0

        def value(text):
            if text in registers:
                return registers[text]
            if text in special:
                return special[text]
            if text.startswith("0f"):
                return int(text[2:], 16)
            number = int(text, 0)
            return number

        while pc < len(function.lines):
            line = function.lines[pc]
            pc += 1
            guard = re.match(r"@(!?)(%\w+)\s+(.*)", line, re.S)
            if guard:
                if registers[guard[2]] == bool(guard[1]):
                    continue
                line = guard[3]
            op, _, rest = line.partition(" ")
            operands = (
                [each.strip() for each in re.split(r",(?![^\[]*\])(?![^(]*\))", rest)]
                if rest
                else []
            )
            if op == "bra":
                pc = function.labels[operands[0]]
            elif op == "ret":
                return slots.get("result")
            elif op == "bar.sync":
                yield ("bar",)
            elif op.startswith(("shfl", "vote", "redux", "match")):
                registers[operands[0]] = yield ("warp", op, [value(each) for each in operands[1:]])
            elif op == "call":
                inside = re.match(r"\((\w+)\), (\w+), \((.*)\)", rest)
                callee = self.functions[inside[2]]
                given = [slots[each.strip()] for each in inside[3].split(",")]
                slots[inside[1]] = yield from self.execute(
                    callee, special, dict(zip(callee.arguments, given, strict=True))
                )
            elif op.startswith(("ld", "st", "red")):
                self.transfer(op, operands, registers, slots, local, value)
            elif op.startswith("setp"):
                registers[operands[0]] = OPERATIONS[op](*map(value, operands[1:]))
            else:
                width = M64 if operands[0].startswith("%q") else M32
                registers[operands[0]] = OPERATIONS[op](
                    *(
                        value(each) & width if each not in registers else value(each)
                        for each in operands[1:]
                    )
                )

    def transfer(self, op, operands, registers, slots, local, value):
        parts = op.split(".")
        space, size = parts[1], int(parts[-1].lstrip("usbf")) // 8
        address, other = (operands[1], operands[0]) if parts[0] == "ld" else operands
        base, _, offset = address.strip("[]").partition("+")
        offset = int(offset or 0)
        if space == "param":
            if parts[0] == "ld":
                registers[other] = slots[base]
            else:
                slots[base] = value(other)
            return
        memory = {"global": self.memory, "shared": self.shared, "local": local}[space]
        at = (0 if base == "stack" else value(base)) + offset
        if parts[0] == "ld":
            registers[other] = memory.load(at, size)
        elif parts[0] == "st":
            memory.store(at, size, value(other))
        else:
            memory.store(at, size, memory.load(at, size) + value(other) & (1 << 8 * size) - 1)
