"""Rows of compare.py for kernels of Triton's tutorials, which are read in place from a checkout: 03 (matmul), 06 (attention), 08 (grouped) and 09
(persistent). Of a file only what its kernels need is run, not its own benchmarks.
"""
import ast
import os
import types

import torch
import triton


def needed_nodes(path, names):
    """The functions named, and of the definitions, assignments and imports at the top of the file those that they need, in order."""
    with open(path) as file:
        tree = ast.parse(file.read(), path)

    def binds(node):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return {node.name}
        if isinstance(node, ast.Assign):
            return {inner.id for target in node.targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}
        if isinstance(node, (ast.If, ast.Try)):
            return {name for inner in ast.iter_child_nodes(node) for name in binds(inner)}
        return set()

    def needs(node):
        found = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
        own = {inner.id for inner in found if isinstance(inner.ctx, ast.Store)} | {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
        return {inner.id for inner in found} - (own if isinstance(node, ast.FunctionDef) else set())

    kept, wanted = set(), set(names)
    while True:
        # Of several definitions of a name, as of `configs`, the first is the kernels'.
        more = {next((i for i, node in enumerate(tree.body) if name in binds(node)), None) for name in wanted} - {None} - kept
        if not more:
            return [tree.body[i] for i in sorted(kept)]
        kept |= more
        for i in more:
            wanted |= needs(tree.body[i])


def load_kernels(path, names):
    """A module of what is needed."""
    module = types.ModuleType(os.path.basename(path)[:-3])
    module.__file__ = path
    # Places stay those of the file: Triton reads the functions' source by them.
    exec(compile(ast.Module(needed_nodes(path, names), []), path, "exec"), module.__dict__)
    return module


def write_untuned(path, names, to):
    """The same as a file, without tuning: the meta-parameters are given to whoever compiles it."""
    nodes = needed_nodes(path, names)
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = ["triton.jit" for _ in range(any(ast.unparse(decorator).startswith("triton.jit") for decorator in node.decorator_list))]
            node.decorator_list = [ast.parse(text, mode="eval").body for text in node.decorator_list]
    with open(to, "w") as file:
        file.write(ast.unparse(ast.Module(nodes, [])))


def blocks(config):
    return tuple(config.get("BLOCK_SIZE_" + name) for name in "MNK")


def own_configs(path, kernel):
    """The kernel's configurations, one for each set of meta-parameters: warps and stages are hints here."""
    out = {}
    for config in getattr(load_kernels(path, [kernel]), kernel).configs:
        out.setdefault(tuple(sorted(config.kwargs.items())), {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages})
    return tuple(out.values())


def works(folder, Work, randn):
    out = []
    multiprocessors = torch.cuda.get_device_properties("cuda").multi_processor_count

    def work(name, file, kernel, *more, **named):
        path = os.path.abspath(os.path.join(folder, file))
        out.append(Work(name, path, kernel, *more, load=lambda: load_kernels(path, [kernel]),
                        write=lambda to: write_untuned(path, [kernel], to), **named))

    def configs_of(file, kernel):
        return own_configs(os.path.abspath(os.path.join(folder, file)), kernel)

    def reference(s):
        return s["a"].double() @ s["b"].double()

    def matmul(size, fp8=False):
        def make():
            a, b = randn(size, size, dtype=torch.float16), randn(size, size, dtype=torch.float16)
            if fp8:
                a, b = a.to(torch.float8_e5m2), b.to(torch.float8_e5m2).t()
            return {"out": torch.empty(size, size, device="cuda", dtype=torch.float16), "a": a, "b": b}

        def args(s, c):
            return (s["a"], s["b"], s["out"], size, size, size, *s["a"].stride(), *s["b"].stride(), *s["out"].stride(), *blocks(c), 8, "")

        def grid(meta):
            return (triton.cdiv(size, meta["BLOCK_SIZE_M"]) * triton.cdiv(size, meta["BLOCK_SIZE_N"]),)
        file = "03-matrix-multiplication.py"
        work(f"tutorial 03 {'f8e5m2' if fp8 else 'f16'} {size}", file, "matmul_kernel", make, args, lambda s, c: grid(c), "TFLOP/s", 2 * size**3, reference,
             1e-3, configs=configs_of(file, "matmul_kernel"), peers={} if fp8 else {"cublas": lambda s: torch.mm(s["a"], s["b"], out=s["out"])},
             triton_run=lambda k, s: k[grid](*args(s, {})[:12], ACTIVATION=""))

    def grouped(m, n, k, tma=False):
        group, kernel, file = 4, "grouped_matmul_tma_kernel" if tma else "grouped_matmul_kernel", "08-grouped-gemm.py"

        def make():
            s = {"out": torch.empty(group, m, n, device="cuda", dtype=torch.float16), "a": randn(group, m, k, dtype=torch.float16)}
            s["b"] = randn(group, n, k, dtype=torch.float16).transpose(1, 2) if tma else randn(group, k, n, dtype=torch.float16)
            for name in ("a", "b", "out"):
                s[name + "_ptrs"] = torch.tensor([s[name][i].data_ptr() for i in range(group)], device="cuda")
            s["sizes"] = torch.tensor([m, n, k] * group, dtype=torch.int32, device="cuda")
            s["lds"] = torch.tensor([k, k if tma else n, n] * group, dtype=torch.int32, device="cuda")
            return s

        def args(s, c):
            return (s["a_ptrs"], s["b_ptrs"], s["out_ptrs"], s["sizes"], s["lds"], group, c.get("NUM_SM", multiprocessors), *blocks(c), *([False] if tma else []))

        def vendor(s):
            for i in range(group):
                torch.mm(s["a"][i], s["b"][i], out=s["out"][i])

        def theirs(kernel, s):
            if tma:
                triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
                kernel[lambda meta: (meta["NUM_SM"],)](*args(s, {})[:6], FP8=False, NUM_SM=multiprocessors)
            else:
                kernel[lambda meta: (meta["NUM_SM"],)](*args(s, {})[:6])
        # As the tuner does: with tensor maps that the kernel makes itself (and with another order of blocks), and without.
        configs = [{**config, **maps} for config in configs_of(file, kernel) for maps in (({}, {"program_stride": 32}, {"made_maps": False}) if tma else ({},))]
        work(f"tutorial 08{' tma' if tma else ''} f16 4 x {m}x{n}x{k}", file, kernel, make, args, lambda s, c: (c.get("NUM_SM", multiprocessors),), "TFLOP/s",
             2 * group * m * n * k, reference, 1e-3, configs=configs, peers={"cublas": vendor}, triton_run=theirs)

    def persistent(kernel, k):
        m, n, file = 8192, 8192, "09-persistent-matmul.py"
        descriptors, naive = "descriptor" in kernel, kernel == "matmul_kernel"

        def make():
            a, b = randn(m, k, dtype=torch.float16), randn(n, k, dtype=torch.float16).t()
            return {"out": torch.empty(m, n, device="cuda", dtype=torch.float16), "a": a, "b": b}

        def pointers(s):
            strides = () if descriptors else (*s["a"].stride(), *s["b"].stride(), *s["out"].stride())
            return (s["a"], s["b"].t() if descriptors else s["b"], s["out"], m, n, k, *strides)

        def args(s, c):
            own = (*blocks(c), 8)
            return (*pointers(s), *own, *((c.get("EPILOGUE_SUBTILE"), multiprocessors, False, True) if descriptors else () if naive else (multiprocessors,)))

        def grid(meta):
            tiles = triton.cdiv(m, meta["BLOCK_SIZE_M"]) * triton.cdiv(n, meta["BLOCK_SIZE_N"])
            return (tiles if naive else min(multiprocessors, tiles),)

        def theirs(kernel, s):
            if descriptors:
                triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
            more = {"NUM_SMS": multiprocessors, "WARP_SPECIALIZE": False, "FLATTEN": True} if descriptors else {} if naive else {"NUM_SMS": multiprocessors}
            kernel[grid](*pointers(s), **more)
        work(f"tutorial 09 {kernel} {m}x{n}x{k}", file, kernel, make, args, lambda s, c: grid(c), "TFLOP/s", 2 * m * n * k, reference, 1e-3,
             configs=configs_of(file, kernel), peers={"cublas": lambda s: torch.mm(s["a"], s["b"], out=s["out"])}, triton_run=theirs)

    def backward(n, d, causal):
        z, h, file, scale = 4, 32, "06-fused-attention.py", 0.5
        shape = (z, h, n, d)

        def scores(s, i, dtype):
            x = s["q"][i].to(dtype) @ s["k"][i].to(dtype).transpose(1, 2) * scale
            return x.masked_fill(torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1), -torch.inf) if causal else x

        def make():
            s = {"out": torch.empty(3, *shape, device="cuda", dtype=torch.float16)}
            for name in ("q", "k", "v", "do"):
                s[name] = (torch.randn(shape, device="cuda") * 0.5).half()
            s["scaled_k"] = s["k"] * (scale * 1.4426950408889634)
            s["m"], s["delta"] = torch.empty(z, h, n, device="cuda"), torch.empty(z, h, n, device="cuda")
            for i in range(z):
                x = scores(s, i, torch.float32)
                s["m"][i] = torch.logsumexp(x, 2) * 1.4426950408889634
                s["delta"][i] = (torch.softmax(x, 2) @ s["v"][i].float() * s["do"][i].float()).sum(2)
            return s

        def reference(s):
            out = torch.empty(3, *shape, device="cuda", dtype=torch.float64)
            for i in range(z):
                for j in range(0, h, 8):
                    part = {name: s[name][i:i + 1, j:j + 8] for name in ("q", "k", "v", "do")}
                    q, k, v, do = (part[name][0].double() for name in ("q", "k", "v", "do"))
                    p = torch.softmax(scores(part, 0, torch.float64), 2)
                    dp = do @ v.transpose(1, 2)
                    ds = p * (dp - (p * dp).sum(2, keepdim=True)) * scale
                    out[0, i, j:j + 8], out[1, i, j:j + 8], out[2, i, j:j + 8] = ds @ k, ds.transpose(1, 2) @ q, p.transpose(1, 2) @ do
            return out

        def args(s, c):
            tensors = (s["q"], s["scaled_k"], s["v"], scale, s["do"], *s["out"].unbind(0), s["m"], s["delta"])
            return (*tensors, *s["q"].stride(), h, n, 32, 128, 128, 32, 2, d, causal)

        def theirs(kernel, s):
            kernel[(n // 128, 1, z * h)](*args(s, {})[:16], BLOCK_M1=32, BLOCK_N1=128, BLOCK_M2=128, BLOCK_N2=32, BLK_SLICE_FACTOR=2, HEAD_DIM=d, CAUSAL=causal,
                                         num_warps=4, num_stages=5)
        work(f"tutorial 06 backward {z}x{h}x{n}x{d}{' causal' if causal else ''}", file, "_attn_bwd", make, args, lambda s, c: (n // 128, 1, z * h), "TFLOP/s",
             10 * z * h * n * n * d // (2 if causal else 1), reference, 1e-2, configs=({"num_warps": 4, "num_stages": 5},), triton_run=theirs)

    def forward(n, d, causal):
        z, h, kernel, file, scale = 4, 32, "_attn_fwd", "06-fused-attention.py", d**-0.5
        stage = 3 if causal else 1

        def make():
            s = {"out": torch.empty(z, h, n, d, device="cuda", dtype=torch.float16), "m": torch.empty(z, h, n, device="cuda")}
            for name in ("q", "k", "v"):
                s[name] = randn(z, h, n, d, dtype=torch.float16)
            return s

        def args(s, c):  # ours makes the descriptors in the kernel
            return (scale, s["m"], z, h, s["q"], s["k"], s["v"], s["out"], n, d, c["BLOCK_M"], c["BLOCK_N"], False, stage, False, True)

        def sdpa(s):
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
                torch.nn.functional.scaled_dot_product_attention(s["q"], s["k"], s["v"], is_causal=causal)

        def theirs(kernel, s):  # the host makes them, as the tutorial's wrapper does without warp specialization
            from triton.tools.tensor_descriptor import TensorDescriptor
            descriptors = [TensorDescriptor(s[name], shape=[z * h * n, d], strides=[d, 1], block_shape=[1, 1]) for name in ("q", "k", "v", "out")]
            kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_M"]), z * h, 1)](scale, s["m"], z, h, *descriptors, N_CTX=n, HEAD_DIM=d, FP8_OUTPUT=False, STAGE=stage,
                                                                             warp_specialize=False, IS_HOPPER=True)
        configs = tuple(c for c in configs_of(file, kernel) if c["BLOCK_N"] <= min(d, c["BLOCK_M"] if causal else d) and c["BLOCK_N"] >= 64)
        work(f"tutorial 06 forward {z}x{h}x{n}x{d}{' causal' if causal else ''}", file, kernel, make, args,
             lambda s, c: (triton.cdiv(n, c["BLOCK_M"]), z * h), "TFLOP/s", 4 * z * h * n * n * d // (2 if causal else 1),
             lambda s: torch.nn.functional.scaled_dot_product_attention(s["q"].float(), s["k"].float(), s["v"].float(), is_causal=causal), 3e-3,
             configs=configs, peers={"cudnn": sdpa}, triton_run=theirs)

    def preprocess(n, d):
        z, h = 4, 32

        def make():
            return {"out": torch.empty(z, h, n, device="cuda"), "o": randn(z, h, n, d, dtype=torch.float16), "do": randn(z, h, n, d, dtype=torch.float16)}

        def args(s, c):
            return (s["o"], s["do"], s["out"], z, h, n, 128, d)
        work(f"tutorial 06 preprocess {z}x{h}x{n}x{d}", "06-fused-attention.py", "_attn_bwd_preprocess", make, args, lambda s, c: (n // 128, z * h), "GB/s",
             z * h * n * (4 * d + 4), lambda s: (s["o"].double() * s["do"].double()).sum(3), 1e-5,
             triton_run=lambda k, s: k[(n // 128, z * h)](*args(s, {})[:6], BLOCK_M=128, HEAD_DIM=d))

    for n in (1024, 4096, 16384):
        for d in (64, 128):
            forward(n, d, False)
            forward(n, d, True)
    for n in (1024, 4096):
        for d in (64, 128):
            backward(n, d, False)
            backward(n, d, True)
    preprocess(4096, 64)
    preprocess(4096, 128)
    for tma in (False, True):
        for size in (128, 256, 512, 1024):
            grouped(size, size, size, tma)
        for m in (128, 256, 512, 1024):
            grouped(m, 8192, 8192, tma)
    for size in range(256, 4096 + 1, 128):
        matmul(size)
    for size in (512, 2048, 4096):
        matmul(size, fp8=True)
    for kernel in ("matmul_kernel", "matmul_kernel_persistent", "matmul_kernel_descriptor_persistent"):
        for k in (512, 2048):
            persistent(kernel, k)
    return out
