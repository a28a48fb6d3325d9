"""Times kernels of tilevm beside Triton's and the vendor's libraries, in one process, and checks the answers.

    python3 bench/gpu/compare.py --cubins PATH/TO/cubins [--tutorials FOLDER] [--only REGEX] [--rounds 9] [--cache FOLDER] [--out FILE]

Runs on a machine with a GPU, torch and Triton. The program //bench/gpu:cubins compiles the same kernel files that Triton compiles here; its cubins are
launched through libcuda on torch's tensors. Each contender is captured into a CUDA graph of launches that walk over several sets of fresh random inputs,
more than the L2 cache in total. Graphs are replayed in rounds, in an order that rotates and turns round; a figure is the median over the rounds, a ratio the
median of the rounds' ratios. Answers are compared with float64 on outputs that were filled with NaN before.
"""
import argparse
import ctypes
import importlib.util
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import torch
import triton

import tutorials

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int32: "i32", torch.int64: "i64", torch.float64: "f64", torch.int8: "i8",
          torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2"}
TRY_WARPS = []
TRY_PARTS = [0]
CACHE = []
cuda = ctypes.CDLL("libcuda.so.1")


def check(code):
    if code != 0:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(code, ctypes.byref(name))
        raise RuntimeError(f"driver: {name.value}")


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("smem_bytes", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)), ("attribute_count", ctypes.c_uint)]


class Repacker:
    """Copies an array that is not aligned into workspace before the launch, as the launcher of tilevm does (gpu/device/repack.cuh)."""

    def __init__(self, folder):
        with open(os.path.join(folder, "repack.cubin"), "rb") as file:
            self.image = file.read()
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), self.image))
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, b"repack_rows"))
        self.workspaces = {}

    def launch(self, number, fields, address, stream):
        packed, rows, pitch = fields["packed"], fields["extents"][1], fields["strides"][0]
        turned, columns = packed["turned_bytes"], fields["extents"][0]
        if number not in self.workspaces:
            self.workspaces[number] = torch.empty((columns if turned else rows) * packed["stride"], dtype=torch.uint8, device="cuda")
        to = self.workspaces[number].data_ptr()
        values = [ctypes.c_uint64(address), ctypes.c_uint64(pitch), ctypes.c_uint64(to), ctypes.c_uint64(packed["stride"]), ctypes.c_uint32(packed["row_bytes"]),
                  ctypes.c_uint32(packed["stride"] // 16), ctypes.c_uint64(rows), ctypes.c_uint64(address + (rows - 1) * pitch + packed["row_bytes"]),
                  ctypes.c_uint32(turned)]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        side = {0: 0, 1: 128, 4: 64}[turned]
        grid = (-(-columns // side), -(-rows // side)) if turned else ((rows + 3) // 4, 1)
        check(cuda.cuLaunchKernel(self.function, *grid, 1, 64, 4, 1, 0, stream, pointers, None))
        return {**fields, "offset": 0, "strides": [packed["stride"]], "extents": [rows, columns] if turned else fields["extents"]}, to


def tensor_map(fields, address):
    """The map's bytes, aligned to 64, with what keeps them alive."""
    buffer = ctypes.create_string_buffer(128 + 64)
    at = (ctypes.addressof(buffer) + 63) // 64 * 64
    rank = len(fields["extents"])
    check(cuda.cuTensorMapEncodeTiled(
        ctypes.c_void_p(at), fields["dtype"], rank, ctypes.c_void_p(address + fields["offset"]), (ctypes.c_uint64 * rank)(*fields["extents"]),
        (ctypes.c_uint64 * max(1, rank - 1))(*fields["strides"]), (ctypes.c_uint32 * rank)(*fields["box"]), (ctypes.c_uint32 * rank)(*[1] * rank), 0,
        fields["swizzle"], 2 if fields["param"] is None else 3, 0))  # promotion: gpu/launch/arguments.cc
    return buffer, at


class Cubin:
    """A kernel of the manifest, launched with the arguments of its Python signature."""

    def __init__(self, folder, entry, stride=1):
        self.entry, self.launches, self.stride = entry, 0, stride
        with open(os.path.join(folder, entry["cubin"]), "rb") as file:
            self.image = file.read()
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), self.image))
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, entry["entry"].encode()))
        if entry["smem"] > 48 * 1024:
            check(cuda.cuFuncSetAttribute(self.function, 8, entry["smem"]))
        self.repacker = Repacker(folder) if any("packed" in fields for fields in entry["maps"]) else None
        if entry["persistent"]:
            blocks = ctypes.c_int()
            check(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(blocks), self.function, entry["threads"], ctypes.c_size_t(entry["smem"])))
            self.at_once = blocks.value * torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count

    def launch(self, grid, args):
        values = []
        for index in self.entry["params"]:
            arg = args[index]
            if isinstance(arg, torch.Tensor):
                values.append(ctypes.c_uint64(arg.data_ptr()))
            elif isinstance(arg, float):
                values.append(ctypes.c_float(arg))
            else:
                values.append(ctypes.c_int64(arg) if abs(arg) >= 2**31 else ctypes.c_int32(arg))
        grid = list(grid) + [1] * (3 - len(grid))
        parts = self.entry["parts"]
        if not self.entry["tail"]:
            grid[0] *= parts
        pointers = [ctypes.addressof(v) for v in values]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        maps = []
        for number, fields in enumerate(self.entry["maps"]):
            address = 0 if fields["param"] is None else values[fields["param"]].value
            if "packed" in fields:
                fields, address = self.repacker.launch(number, fields, address + fields["offset"], stream)
            maps.append(tensor_map(fields, address))
        pointers += [address for _, address in maps]
        if self.entry["persistent"]:
            programs = [ctypes.c_uint32(extent) for extent in grid]
            pointers += [ctypes.addressof(extent) for extent in programs]
            grid[0] = -(-grid[0] // self.entry["programs"])
            grid = [min(math.prod(grid) * (parts if self.entry["tail"] else 1), self.at_once), 1, 1]
            deal = ctypes.c_uint32(self.launches % 1024)  # of launches beside each other each has its own
            self.launches += 1
            if self.entry["dealt"]:
                pointers.append(ctypes.addressof(deal))
        elif self.entry["strided"]:
            stride = ctypes.c_uint32(self.stride)
            pointers.append(ctypes.addressof(stride))
        elif self.entry["packed"] > 1:
            extent = ctypes.c_uint32(grid[0])
            pointers.append(ctypes.addressof(extent))
            grid[0] = -(-grid[0] // self.entry["packed"])
        pointers = (ctypes.c_void_p * len(pointers))(*pointers)
        # As the launcher of tilevm does it (gpu/launch/arguments.cc: LaunchBlocks).
        early = LaunchAttribute(6, 0, 1)
        multiprocessors = torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
        few = math.prod(grid) * 8 < 7 * multiprocessors and math.prod(grid) * 2 > multiprocessors
        config = LaunchConfig((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(self.entry["threads"], 1, 1), self.entry["smem"], stream, ctypes.pointer(early),
                              1 if self.entry["begins_early"] and not few else 0)
        check(cuda.cuLaunchKernelEx(ctypes.byref(config), self.function, pointers, None))


def spec_arg(value, constexpr):
    if isinstance(value, torch.Tensor):
        return {"pointer": DTYPES[value.dtype], "aligned": value.data_ptr() % 16 == 0}
    if constexpr:
        return {"const": value}
    return {"float": value} if isinstance(value, float) else {"int": value}


def load_file(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Work:
    """One row of the table: how to make a set of inputs, how each side runs on it."""

    def __init__(self, name, file, kernel, make, args, grid, unit, amount, reference, tolerance, configs=({},), peers=None, triton_run=None, load=None,
                 write=None):
        self.name, self.file, self.kernel, self.make, self.args, self.grid = name, os.path.join(ROOT, file), kernel, make, args, grid
        self.unit, self.amount, self.reference, self.tolerance = unit, amount, reference, tolerance
        self.configs, self.peers, self.triton_run = configs, peers or {}, triton_run
        self.load, self.write = load or (lambda: load_file(self.file)), write  # write(path): a file for our side, if it is not `file` itself


def graph_of(run, sets, launches):
    for s in sets:
        run(s)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            run(sets[i % len(sets)])
    graph.replay()
    torch.cuda.synchronize()
    return graph


def time_graph(graph, launches):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / launches


def error_of(out, expected):
    out, expected = out.double(), expected.double()
    if not torch.equal(torch.isnan(out), torch.isnan(expected)):
        return math.inf
    if out.dim() > 4:  # several results
        return max(error_of(*pair) for pair in zip(out, expected))
    return ((out - expected).norm() / expected.norm()).item()


def run_work(work, cubins, folder, rounds, arch, report):
    sets = [work.make()]
    size = sum(t.numel() * t.element_size() for t in sets[0].values() if isinstance(t, torch.Tensor))
    while len(sets) < 8 and size * len(sets) < 160e6 or len(sets) < 2:
        sets.append(work.make())
    kernel = base = getattr(work.load(), work.kernel)
    while not hasattr(base, "params"):
        base = base.fn
    first = sets[0]
    source = work.file
    if work.write is not None:
        source = os.path.join(folder, "kernels.py")
        work.write(source)
    # Ours: every configuration, the best by a first timing.
    entries = []
    configs = work.configs
    if TRY_WARPS and len(configs) == 1:
        configs = [{**configs[0], "num_warps": w} for w in TRY_WARPS]
    if TRY_PARTS != [0]:
        configs = [{**config, "parts": parts} for config in configs for parts in TRY_PARTS]
    for number, config in enumerate(configs):
        values = work.args(first, config)
        params = base.params
        entries.append({"name": f"{re.sub('[^a-z0-9]+', '_', work.name.lower())}_{number}", "file": source, "kernel": work.kernel,
                        "num_warps": config.get("num_warps", 4), "num_stages": config.get("num_stages", 3), "grid": list(work.grid(first, config)),
                        "args": [spec_arg(v, params[i].is_constexpr) for i, v in enumerate(values)]})
    manifest, builds = {}, []
    for number, entry in enumerate(entries):
        place = os.path.join(folder, str(number))
        os.mkdir(place)
        with open(os.path.join(place, "spec.json"), "w") as file:
            json.dump([entry], file)
        options = [f"--arch={arch}", f"--parts={configs[number].get('parts', 0)}", *(f"--cache={cache}" for cache in CACHE)]
        options += ["--no-made-maps"] if configs[number].get("made_maps") is False else []
        builds.append(subprocess.Popen([cubins, "--text", *options, os.path.join(place, "spec.json"), place], stdout=subprocess.PIPE, text=True))
    for number, build in enumerate(builds):
        print(build.communicate()[0], end="", flush=True)
        with open(os.path.join(folder, str(number), "manifest.json")) as file:
            manifest.update(json.load(file))
    expected = work.reference(first)
    out = next(iter(first.values()))
    tolerance = work.tolerance
    contenders, notes = {}, []
    best = None
    for number, (entry, config) in enumerate(zip(entries, configs)):
        info = manifest[entry["name"]]
        if "error" in info:
            notes.append(info["error"].splitlines()[0])
            continue
        cubin = Cubin(os.path.join(folder, str(number)), info, config.get("program_stride", 1))

        def ours(s, cubin=cubin, config=config):
            values = work.args(s, config)
            cubin.launch(work.grid(s, config), values)

        out.fill_(math.nan)
        ours(first)
        torch.cuda.synchronize()
        error = error_of(out, expected)
        if not error <= tolerance:
            notes.append(f"WRONG {config}: error {error:.2e}")
            continue
        graph = graph_of(ours, sets, len(sets))
        took = min(time_graph(graph, len(sets)) for _ in range(5))
        if len(entries) > 1:
            notes.append(f"{took:.2f} us: {config}" + (f"{', the last wave' if info['tail'] else ''} in {info['parts']} parts" if info["parts"] > 1 else ""))
        if best is None or took < best[0]:
            best = (took, ours, error, info)
    if best is not None:
        contenders["ours"] = best[1]

    if work.triton_run is not None:
        if hasattr(kernel, "configs"):  # the tuner's own default measures each for an eighth of a second
            kernel._do_bench = lambda call, quantiles: triton.testing.do_bench(call, warmup=5, rep=25, quantiles=quantiles)

        def theirs(s):
            work.triton_run(kernel, s)
        out.fill_(math.nan)
        theirs(first)
        torch.cuda.synchronize()
        error = error_of(out, expected)
        if not error <= tolerance:
            notes.append(f"Triton: error {error:.2e}")
        if getattr(kernel, "best_config", None) is not None:
            notes.append(f"Triton's choice: {kernel.best_config}")
        contenders["triton"] = theirs
    contenders.update(work.peers)
    graphs = {}
    rough = best[0] if best is not None else 100.0
    launches = len(sets) * max(1, int(2000 / max(rough, 1.0) / len(sets)))
    for name, run in contenders.items():
        graphs[name] = graph_of(run, sets, launches)
    times = {name: [] for name in graphs}
    order = list(graphs)
    for i in range(rounds):
        # Who goes before has an influence: under the power cap the follower of a slower one finds a cooler card. So each follows each.
        turned = order[i // 2 % len(order):] + order[:i // 2 % len(order)]
        for name in turned[::-1] if i % 2 else turned:
            times[name].append(time_graph(graphs[name], launches))
    row = {"work": work.name, "unit": work.unit, "notes": notes}
    for name, values in times.items():
        us = statistics.median(values)
        row[name] = {"us": us, "rate": work.amount / us / (1e3 if work.unit == "GB/s" else 1e6)}
    for name in times:
        if name != "ours" and "ours" in times:
            row.setdefault("ratios", {})[name] = statistics.median(b / a for a, b in zip(times["ours"], times[name]))
    if best is not None:
        row["ours"].update(error=best[2], registers=best[3]["registers"], spill=best[3]["spill"], smem=best[3]["smem"], threads=best[3]["threads"], ms=best[3]["ms"])
    report.append(row)
    text = f"{work.name:34s}"
    for name in times:
        text += f" | {name} {row[name]['us']:9.2f} us {row[name]['rate']:8.1f} {work.unit}"
    for name, ratio in row.get("ratios", {}).items():
        text += f" | {ratio:.3f}x {name}"
    if best is not None:
        text += f" | error {best[2]:.1e} regs {best[3]['registers']} spill {best[3]['spill']} NVRTC {best[3]['ms']['nvrtc']:.0f} ms"
    print(text, flush=True)
    for note in notes:
        print("      " + note, flush=True)


def compile_triton(chosen, part, parts):
    """Runs every configuration of each kernel once; they are dealt out to the parts."""

    class One:
        def __init__(self, kernel, config):
            self.kernel, self.config = kernel, config

        def __getitem__(self, grid):
            return lambda *args, **more: self.kernel.fn[grid](*args, **more, **self.config.all_kwargs())

    number, seen = 0, set()
    for work in chosen:
        kernel = getattr(work.load(), work.kernel)
        tuned = hasattr(kernel, "configs")
        kind = (work.file, work.kernel, "f8" in work.name) if tuned else re.sub(r"\d{4,}", "", work.name)  # not its size
        if work.triton_run is None or kind in seen:
            continue
        seen.add(kind)
        inputs = None
        for one in [One(kernel, config) for config in kernel.configs] if tuned else [kernel]:
            number += 1
            if number % parts != part:
                continue
            inputs = inputs or work.make()
            try:
                work.triton_run(one, inputs)
            except Exception as error:  # a configuration that does not fit: its tuner leaves it out as well
                print(f"{work.name}: {error}")
    torch.cuda.synchronize()


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def works():
    out = []
    rows_file = os.path.relpath(os.path.join(HERE, "kernels.py"), ROOT)

    def add(n):
        out.append(Work(f"add f32 {n}", "examples/vector_add.py", "add_kernel",
                        lambda: {"out": torch.empty(n, device="cuda"), "x": randn(n), "y": randn(n)},
                        lambda s, c: (s["x"], s["y"], s["out"], n, 1024), lambda s, c: (triton.cdiv(n, 1024),), "GB/s", 12 * n,
                        lambda s: s["x"].double() + s["y"].double(), 1e-6,
                        triton_run=lambda k, s: k[(triton.cdiv(n, 1024),)](s["x"], s["y"], s["out"], n, BLOCK_SIZE=1024)))

    def softmax(rows, cols, dtype):
        block = triton.next_power_of_2(cols)
        size = torch.empty((), dtype=dtype).element_size()
        chosen = []

        def theirs(kernel, s):  # Triton's best over num_warps
            def with_warps(warps):
                return lambda: kernel[(rows,)](s["out"], s["x"], cols, cols, cols, BLOCK_SIZE=block, num_warps=warps)
            if not chosen:
                chosen.append(min((4, 8, 16, 32), key=lambda warps: triton.testing.do_bench(with_warps(warps), warmup=5, rep=25)))
                print(f"      Triton's num_warps: {chosen[0]}", flush=True)
            with_warps(chosen[0])()
        out.append(Work(f"softmax {DTYPES[dtype]} {rows}x{cols}", "examples/fused_softmax.py", "softmax_kernel",
                        lambda: {"out": torch.empty(rows, cols, device="cuda", dtype=dtype), "x": randn(rows, cols, dtype=dtype)},
                        lambda s, c: (s["out"], s["x"], cols, cols, cols, block), lambda s, c: (rows,), "GB/s", 2 * size * rows * cols,
                        lambda s: torch.softmax(s["x"].double(), 1), 1e-6 if dtype == torch.float32 else 1e-3,
                        triton_run=theirs,
                        peers={"torch": lambda s: torch.softmax(s["x"], 1, out=s["out"])}))

    def matmul(m, n, k, dtype=torch.float16, transpose_a=False, transpose_b=False):
        configs = [{"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_stages": 3, "num_warps": 8},
                   {"BLOCK_M": 64, "BLOCK_N": 256, "BLOCK_K": 32, "num_stages": 4, "num_warps": 4},
                   {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "num_stages": 4, "num_warps": 4}]

        result = torch.float16 if dtype == torch.float8_e4m3fn else dtype

        def make():
            a = randn(k, m, dtype=dtype).t() if transpose_a else randn(m, k, dtype=dtype)
            b = randn(n, k, dtype=dtype).t() if transpose_b else randn(k, n, dtype=dtype)
            return {"out": torch.empty(m, n, device="cuda", dtype=result), "a": a, "b": b}

        def args(s, c):
            a, b, o = s["a"], s["b"], s["out"]
            return (a, b, o, m, n, k, *a.stride(), *b.stride(), *o.stride(), c["BLOCK_M"], c["BLOCK_N"], c["BLOCK_K"], 8)

        def theirs(kernel, s):
            a, b, o = s["a"], s["b"], s["out"]
            kernel[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
                a, b, o, m, n, k, *a.stride(), *b.stride(), *o.stride(), GROUP_SIZE_M=8)
        one = torch.ones((), device="cuda")

        def vendor(s):
            if dtype == torch.float8_e4m3fn:  # it takes b along k only: the other order has the same peer
                torch._scaled_mm(s["a"], s["b"] if transpose_b else s["along_k"], one, one, out_dtype=result)
                return
            torch.backends.cuda.matmul.allow_tf32 = dtype == torch.float32
            torch.mm(s["a"], s["b"], out=s["out"])

        def with_peer():
            s = make()
            if dtype == torch.float8_e4m3fn and not transpose_b:
                s["along_k"] = randn(n, k, dtype=dtype).t()
            return s
        tolerance = {torch.float16: 2e-3, torch.bfloat16: 6e-3, torch.float32: 2e-3}.get(dtype, 4e-3)
        suffix = ("T" if transpose_a else "N") + ("T" if transpose_b else "N")
        out.append(Work(f"matmul {DTYPES[dtype]} {m}x{n}x{k} {suffix}", "examples/matmul_autotune.py", "matmul_kernel", with_peer, args,
                        lambda s, c: (triton.cdiv(m, c["BLOCK_M"]) * triton.cdiv(n, c["BLOCK_N"]),), "TFLOP/s", 2 * m * n * k,
                        lambda s: s["a"].double() @ s["b"].double(), tolerance, configs, peers={"cublas": vendor}, triton_run=theirs))

    def precise_matmul(n, dtype, precision, transpose_b=False):
        tiles = [(128, 128, 32, 8), (128, 128, 32, 4), (64, 64, 32, 4), (128, 64, 32, 4), (64, 64, 16, 4), (128, 128, 16, 8)]
        configs = [{"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "num_stages": 3, "num_warps": warps} for bm, bn, bk, warps in tiles]
        chosen = []

        def args(s, c):
            a, b, o = s["a"], s["b"], s["out"]
            return (o, a, b, n, n, n, *a.stride(), *b.stride(), o.stride(0), c["BLOCK_M"], c["BLOCK_N"], c["BLOCK_K"], precision)

        def grid(s, c):
            return (triton.cdiv(n, c["BLOCK_M"]) * triton.cdiv(n, c["BLOCK_N"]),)

        def theirs(kernel, s):  # Triton's best over the same configurations
            def with_config(c):
                return lambda: kernel[grid(s, c)](*args(s, c), num_warps=c["num_warps"], num_stages=c["num_stages"])
            if not chosen:
                timed = []
                for config in configs:
                    try:
                        timed.append((triton.testing.do_bench(with_config(config), warmup=5, rep=25), config))
                    except triton.OutOfResources:
                        continue
                chosen.append(min(timed, key=lambda pair: pair[0])[1])
                print(f"      Triton's choice: {chosen[0]}", flush=True)
            with_config(chosen[0])()

        def vendor(s):
            torch.backends.cuda.matmul.allow_tf32 = False
            torch.mm(s["a"], s["b"], out=s["out"])
        out.append(Work(f"matmul {precision if dtype == torch.float32 else 'f64'} {n}{' NT' if transpose_b else ''}", rows_file, "precise_matmul_kernel",
                        lambda: {"out": torch.empty(n, n, device="cuda", dtype=dtype), "a": randn(n, n, dtype=dtype),
                                 "b": randn(n, n, dtype=dtype).t() if transpose_b else randn(n, n, dtype=dtype)},
                        args, grid, "TFLOP/s", 2 * n**3, lambda s: s["a"].double() @ s["b"].double(), 1e-4 if precision == "bf16x3" else 1e-5, configs,
                        peers={"cublas": vendor}, triton_run=theirs))

    def attention(batch, heads, n, d, causal):
        scale = 1.0 / math.sqrt(d)

        def make():
            q, k, v = (randn(batch, heads, n, d, dtype=torch.float16) for _ in range(3))
            return {"out": torch.empty_like(q), "q": q, "k": k, "v": v}

        def args(s, c):
            tensors = [s["q"], s["k"], s["v"], s["out"]]
            return (*tensors, scale, *[x for t in tensors for x in t.stride()], heads, n, d, c["BLOCK_M"], c["BLOCK_N"], causal)

        def sdpa(s):
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
                torch.nn.functional.scaled_dot_product_attention(s["q"], s["k"], s["v"], is_causal=causal)

        def reference(s):
            return torch.nn.functional.scaled_dot_product_attention(s["q"].float(), s["k"].float(), s["v"].float(), is_causal=causal)
        out.append(Work(f"attention f16 {batch}x{heads}x{n}x{d}{' causal' if causal else ''}", "examples/flash_attention.py", "flash_attention_kernel", make, args,
                        lambda s, c: (triton.cdiv(n, c["BLOCK_M"]), batch * heads), "TFLOP/s", 4 * batch * heads * n * n * d * (0.5 if causal else 1), reference, 3e-3,
                        configs=({"BLOCK_M": 64 if d <= 64 else 128, "BLOCK_N": 128, "num_warps": 4 if d <= 64 else 8},), peers={"cudnn": sdpa},
                        triton_run=lambda k, s: k[(triton.cdiv(n, 128), batch * heads)](*args(s, {"BLOCK_M": 128, "BLOCK_N": 64})[:-4], HEAD_DIM=d, BLOCK_M=128, BLOCK_N=64, CAUSAL=causal,
                                                                                       num_warps=8)))

    def norm(kind, rows, cols, dtype):
        block = triton.next_power_of_2(cols)
        size = torch.empty((), dtype=dtype).element_size()
        layer = kind == "layer"

        def make():
            s = {"out": torch.empty(rows, cols, device="cuda", dtype=dtype), "x": randn(rows, cols, dtype=dtype), "w": randn(cols, dtype=dtype)}
            if layer:
                s["b"] = randn(cols, dtype=dtype)
            return s

        def args(s, c):
            return (s["out"], s["x"], s["w"], *([s["b"]] if layer else []), cols, cols, 1e-5, block)

        def reference(s):
            x, w = s["x"].double(), s["w"].double()
            if layer:
                return torch.nn.functional.layer_norm(x, (cols,), w, s["b"].double(), 1e-5)
            return x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-5) * w
        # As the tutorials and libraries choose it.
        warps = min(max(block // 256, 1), 8)
        peers = {"torch": lambda s: torch.nn.functional.layer_norm(s["x"], (cols,), s["w"], s["b"], 1e-5)} if layer else {}
        out.append(Work(f"{kind} norm {DTYPES[dtype]} {rows}x{cols}", rows_file, f"{kind}_norm_kernel", make, args, lambda s, c: (rows,), "GB/s",
                        2 * size * rows * cols, reference, 1e-6 if dtype == torch.float32 else 1e-2, configs=({"num_warps": warps},), peers=peers,
                        triton_run=lambda k, s: k[(rows,)](*args(s, {})[:-1], BLOCK=block, num_warps=warps)))

    def gelu(n, dtype):
        size = torch.empty((), dtype=dtype).element_size()
        out.append(Work(f"gelu {DTYPES[dtype]} {n}", rows_file, "gelu_kernel", lambda: {"out": torch.empty(n, device="cuda", dtype=dtype), "x": randn(n, dtype=dtype)},
                        lambda s, c: (s["out"], s["x"], n, 1024), lambda s, c: (triton.cdiv(n, 1024),), "GB/s", 2 * size * n,
                        lambda s: torch.nn.functional.gelu(s["x"].double()), 1e-6 if dtype == torch.float32 else 1e-2,
                        peers={"torch": lambda s: torch.nn.functional.gelu(s["x"])},
                        triton_run=lambda k, s: k[(triton.cdiv(n, 1024),)](s["out"], s["x"], n, BLOCK=1024)))

    def dropout(n):
        # The reference is Triton's own run: the same generator, the same bits.
        def reference(s):
            expected = torch.empty_like(s["out"])
            load_file(os.path.join(ROOT, rows_file)).dropout_kernel[(triton.cdiv(n, 1024),)](expected, s["x"], n, 0.5, 123, BLOCK=1024)
            return expected
        out.append(Work(f"dropout f32 {n}", rows_file, "dropout_kernel", lambda: {"out": torch.empty(n, device="cuda"), "x": randn(n)},
                        lambda s, c: (s["out"], s["x"], n, 0.5, 123, 1024), lambda s, c: (triton.cdiv(n, 1024),), "GB/s", 8 * n, reference, 1e-6,
                        triton_run=lambda k, s: k[(triton.cdiv(n, 1024),)](s["out"], s["x"], n, 0.5, 123, BLOCK=1024)))

    def cross_entropy(rows, cols, dtype):
        block = min(triton.next_power_of_2(cols), 32768 // 2)
        size = torch.empty((), dtype=dtype).element_size()
        out.append(Work(f"cross entropy {DTYPES[dtype]} {rows}x{cols}", rows_file, "cross_entropy_kernel",
                        lambda: {"out": torch.empty(rows, device="cuda"), "x": randn(rows, cols, dtype=dtype), "labels": torch.randint(0, cols, (rows,), device="cuda")},
                        lambda s, c: (s["out"], s["x"], s["labels"], cols, cols, block), lambda s, c: (rows,), "GB/s", size * rows * cols,
                        lambda s: torch.nn.functional.cross_entropy(s["x"].double(), s["labels"], reduction="none"), 1e-5, configs=({"num_warps": 16},),
                        peers={"torch": lambda s: torch.nn.functional.cross_entropy(s["x"], s["labels"], reduction="none")},
                        triton_run=lambda k, s: k[(rows,)](s["out"], s["x"], s["labels"], cols, cols, BLOCK=block, num_warps=16)))

    for rows, cols, dtype in ((8192, 4096, torch.float16), (8192, 8192, torch.bfloat16), (16384, 1024, torch.float32)):
        norm("layer", rows, cols, dtype)
        norm("rms", rows, cols, dtype)
    gelu(2**27, torch.float16)
    gelu(2**26, torch.float32)
    dropout(2**26)
    cross_entropy(4096, 32000, torch.float16)
    cross_entropy(4096, 128256, torch.bfloat16)
    add(10_000_000)
    add(2**28)
    for cols in (1024, 8192, 32768):
        softmax(4096, cols, torch.float32)
    for rows, cols in ((4096, 1024), (4096, 8192), (4096, 32768), (8192, 12345), (16384, 781)):
        softmax(rows, cols, torch.float16)
    for size in (1024, 2048, 4096, 8192):
        matmul(size, size, size)
    matmul(8192, 8192, 1024)
    matmul(4096, 16384, 4096)
    for size in (1024, 2048, 4096, 8192):
        matmul(size, size, size, torch.bfloat16)
    for dtype in (torch.float32, torch.float8_e4m3fn):
        matmul(4096, 4096, 4096, dtype, transpose_b=True)
        matmul(4096, 4096, 4096, dtype)
    matmul(4096, 4096, 4096, transpose_a=True)
    matmul(4096, 4096, 4096, transpose_b=True)
    matmul(1000, 1032, 520)
    matmul(4095, 4095, 4093)
    for precision in ("ieee", "tf32x3", "bf16x3"):
        precise_matmul(4096, torch.float32, precision)
    precise_matmul(4096, torch.float32, "ieee", transpose_b=True)
    precise_matmul(4096, torch.float64, "ieee")
    for d in (64, 128):
        for n in (1024, 4096, 8192, 16384):
            for causal in (False, True):
                if n != 8192 or d == 64:
                    attention(16384 // n, 2048 // d, n, d, causal)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cubins", required=True)
    parser.add_argument("--tutorials", default="", help="a folder with Triton's tutorials: their rows are measured instead")
    parser.add_argument("--compile-only", default="", help="I/N: part I of N of what Triton has to compile, into its own cache; several can run at once")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", default="")
    parser.add_argument("--warps", default="", help="4,8,16: try these for our side's num_warps, to see what the choice costs")
    parser.add_argument("--parts", default="", help="1,2,4: try each of our configurations in so many parts (-4: the last wave alone), to see what that costs")
    parser.add_argument("--cache", default="", help="a folder where the program finds what it compiled before")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    major, minor = torch.cuda.get_device_capability()
    arch = f"sm_{major}{minor}" + ("a" if major >= 9 else "")
    report = []
    TRY_WARPS.extend(int(w) for w in options.warps.split(",") if w)
    if options.parts:
        TRY_PARTS[:] = [int(parts) for parts in options.parts.split(",")]
    if options.cache:
        os.makedirs(options.cache, exist_ok=True)
        CACHE.append(os.path.abspath(options.cache))
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}, {options.rounds} rounds", flush=True)
    chosen = [work for work in (tutorials.works(options.tutorials, Work, randn) if options.tutorials else works()) if re.search(options.only, work.name)]
    if options.compile_only:
        compile_triton(chosen, *(int(number) for number in options.compile_only.split("/")))
        return
    for work in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                run_work(work, os.path.abspath(options.cubins), folder, options.rounds, arch, report)
            except Exception as error:  # the other rows go on
                print(f"{work.name}: {error}", flush=True)
        torch.cuda.empty_cache()
    if options.out:
        with open(options.out, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
