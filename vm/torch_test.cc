// torch.* as host programs use it: each test is a piece of Python whose asserts have to hold.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "vm/testing.h"

namespace tilevm::vm {
namespace {

TEST(Torch, Creation) {
  EXPECT_EQ(RunBody(R"py(
assert torch.zeros(2, 3).shape == (2, 3)
assert torch.zeros((2, 3)).sum().item() == 0
assert torch.ones(4, dtype=torch.int32).tolist() == [1, 1, 1, 1]
assert torch.full((2,), 1.5).tolist() == [1.5, 1.5]
assert torch.full((2,), 3).dtype == torch.int64
assert torch.arange(5).tolist() == [0, 1, 2, 3, 4]
assert torch.arange(1, 2, 0.25).tolist() == [1.0, 1.25, 1.5, 1.75]
assert torch.tensor([[1, 2], [3, 4]]).shape == (2, 2)
assert torch.tensor([1, 2.5]).dtype == torch.float32
assert torch.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
assert torch.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
x = torch.empty((3, 4), device='cuda', dtype=torch.float16)
assert x.is_cuda and x.element_size() == 2 and x.is_contiguous() and x.numel() == 12
assert torch.empty_like(x.t()).stride() == (1, 4)
)py"),
            "");
}

TEST(Torch, ShapesAndViews) {
  EXPECT_EQ(RunBody(R"py(
x = torch.arange(24).reshape(2, 3, 4)
assert x.stride() == (12, 4, 1) and x.stride(0) == 12 and x.size(-1) == 4 and x.dim() == 3
assert x.permute(2, 0, 1).shape == (4, 2, 3)
assert x.transpose(0, 1)[2, 1, 3].item() == 23
assert x[1, :, 1].tolist() == [13, 17, 21]
assert x[..., 0].shape == (2, 3)
assert x[:, None].shape == (2, 1, 3, 4)
assert x[0, ::2, 1:3].tolist() == [[1, 2], [9, 10]]
assert x[-1, -1, -1] == 23
assert x.view(-1)[5:8].tolist() == [5, 6, 7]
assert x.flatten(1).shape == (2, 12)
assert x.unsqueeze(0).squeeze(0).shape == x.shape
assert torch.cat([x, x], dim=1).shape == (2, 6, 4)
assert torch.stack([x, x]).shape == (2, 2, 3, 4)
x[0, 0] = 7
assert x[0, 0].tolist() == [7, 7, 7, 7]
y = torch.zeros(5)
y[torch.tensor([1, 3])] = torch.tensor([10.0, 30.0])
assert y.tolist() == [0.0, 10.0, 0.0, 30.0, 0.0]
assert y[y > 0].tolist() == [10.0, 30.0]
m, n = x.view(6, 4).shape
assert m == 6 and n == 4
)py"),
            "");
}

TEST(Torch, AugmentedAssignmentIsInPlace) {
  EXPECT_EQ(RunBody(R"py(
def add_one(t):
    t += 1
x = torch.zeros(4)
add_one(x)
assert x.tolist() == [1.0, 1.0, 1.0, 1.0]
y = x[1:]
y *= 3
y -= 1
assert x.tolist() == [1.0, 2.0, 2.0, 2.0]
x[0] += 5
x[1:3] /= 4
x[x > 5] **= 2
assert x.tolist() == [36.0, 0.5, 0.5, 2.0]
h = torch.ones(2, dtype=torch.float16)
g = h
h += torch.full((2,), 0.5)
assert h.dtype == torch.float16 and h is g and g.tolist() == [1.5, 1.5]
h.add_(torch.ones(2))
assert g.tolist() == [2.5, 2.5] and h.dtype == torch.float16
i = torch.tensor([7, -7])
i //= 2
assert i.tolist() == [3, -4]
i %= 3
i |= 4
i <<= 1
i ^= 1
i &= 15
i >>= 1
assert i.tolist() == [4, 6], i.tolist()
m = torch.eye(2)
k = m
m @= torch.full((2, 2), 2.0)
assert k.tolist() == [[1.0, 0.0], [0.0, 1.0]] and m.tolist() == [[2.0, 2.0], [2.0, 2.0]]
class Box:
    pass
b = Box()
b.t = x
b.t += 1
assert x[0].item() == 37.0
n = 3
n += 0.5
assert n == 3.5
x = x + 1
assert b.t[0].item() == 37.0 and x[0].item() == 38.0
)py"),
            "");
  EXPECT_TRUE(absl::StrContains(RunBody("i = torch.ones(2, dtype=torch.int64)\ni += 0.5\n"),
                                "test.py:5:3: error: RuntimeError: result type torch.float32 can't be cast to the desired output type torch.int64"));
  EXPECT_TRUE(absl::StrContains(RunBody("x = torch.ones(1)\nx += torch.ones(3)\n"), "output with shape [1] doesn't match the broadcast shape [3]"));
  EXPECT_TRUE(absl::StrContains(RunBody("x = torch.ones(1).expand(3)\nx += 1\n"), "more than one element of the written-to tensor"));
}

TEST(Torch, Promotion) {
  EXPECT_EQ(RunBody(R"py(
h = torch.ones(2, dtype=torch.float16)
f = torch.ones(2)
i = torch.ones(2, dtype=torch.int32)
assert (h + 1.5).dtype == torch.float16
assert (h + f).dtype == torch.float32
assert (h + torch.ones(2, dtype=torch.bfloat16)).dtype == torch.float32
assert (i + 1).dtype == torch.int32
assert (i + 1.5).dtype == torch.float32
assert (i / 2).dtype == torch.float32
assert (i + h).dtype == torch.float16
assert (h + torch.tensor(2.0)).dtype == torch.float16
assert (f > 0).dtype == torch.bool
assert (torch.ones(2, dtype=torch.uint8) + torch.ones(2, dtype=torch.int8)).dtype == torch.int16
)py"),
            "");
}

TEST(Torch, Arithmetic) {
  EXPECT_EQ(RunBody(R"py(
a = torch.tensor([-7, 7]); b = torch.tensor([2, -2])
assert (a // b).tolist() == [-4, -4] and (a % b).tolist() == [1, -1]
x = torch.tensor([1.0, -2.0, 3.0])
assert (-x).tolist() == [-1.0, 2.0, -3.0] and x.abs().sum().item() == 6
assert (2 - x).tolist() == [1.0, 4.0, -1.0]
assert (x ** 2).tolist() == [1.0, 4.0, 9.0]
assert torch.relu(x).tolist() == [1.0, 0.0, 3.0] and x.clamp(-1, 2).tolist() == [1.0, -1.0, 2.0]
assert torch.maximum(x, torch.zeros(3)).tolist() == [1.0, 0.0, 3.0]
assert torch.where(x > 0, x, 0.0).tolist() == [1.0, 0.0, 3.0]
torch.testing.assert_close(torch.sigmoid(x), 1 / (1 + torch.exp(-x)))
torch.testing.assert_close(F.silu(x), x * torch.sigmoid(x))
assert (torch.tensor([True, False]) & torch.tensor([True, True])).tolist() == [True, False]
assert torch.isnan(torch.tensor([float('nan'), 1.0])).tolist() == [True, False]
x += 1
assert x.tolist() == [2.0, -1.0, 4.0]
)py"),
            "");
}

TEST(Torch, Reductions) {
  EXPECT_EQ(RunBody(R"py(
x = torch.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
assert x.sum().item() == 21 and x.sum(0).tolist() == [5.0, 7.0, 9.0] and x.sum(dim=1, keepdim=True).shape == (2, 1)
assert x.mean(-1).tolist() == [3.0, 4.0]
v, i = x.max(dim=1)
assert v.tolist() == [5.0, 6.0] and i.tolist() == [1, 2]
assert x.max().item() == 6 and x.argmin(dim=1).tolist() == [0, 1]
assert torch.tensor([True, True]).sum().item() == 2
assert x.cumsum(1).tolist() == [[1.0, 6.0, 9.0], [4.0, 6.0, 12.0]]
s = torch.sort(x, dim=1, descending=True)
assert s.values.tolist() == [[5.0, 3.0, 1.0], [6.0, 4.0, 2.0]]
assert torch.topk(x, 2, dim=1).indices.tolist() == [[1, 2], [2, 0]]
assert x.var(dim=1, unbiased=False).tolist()[0] == 8.0 / 3.0 or abs(x.var(dim=1, unbiased=False)[0].item() - 8 / 3) < 1e-6
torch.testing.assert_close(torch.softmax(x, dim=1).sum(1), torch.ones(2))
assert bool((x > 0).all()) and not bool((x > 5.5).all())
n = F.layer_norm(x, (3,), eps=0.0)
torch.testing.assert_close(n.mean(1), torch.zeros(2), rtol=0, atol=1e-6)
)py"),
            "");
}

TEST(Torch, MatMul) {
  EXPECT_EQ(RunBody(R"py(
a = torch.arange(6, dtype=torch.float32).reshape(2, 3)
b = torch.arange(12, dtype=torch.float32).reshape(3, 4)
assert (a @ b).tolist() == [[20.0, 23.0, 26.0, 29.0], [56.0, 68.0, 80.0, 92.0]]
assert torch.matmul(a, b[:, 0]).tolist() == [20.0, 56.0]
assert torch.bmm(a[None], b[None]).shape == (1, 2, 4)
big = torch.full((4, 4096), 1.0, dtype=torch.float16)
assert (big @ big.T)[0, 0].item() == 4096.0
)py"),
            "");
  EXPECT_TRUE(absl::StrContains(RunBody("torch.zeros(2, 3) @ torch.zeros(2, 3)\n"), "test.py:4:19: error: @: shapes [2, 3] and [2, 3] cannot be multiplied"));
}

TEST(Torch, NamespacesAreAttributes) {
  EXPECT_EQ(RunBody(R"py(
assert hasattr(torch, "cuda") and hasattr(torch.cuda, "is_available") and torch.cuda.is_available()
assert not hasattr(torch, "frobnicate")
)py"),
            "");
}

TEST(Torch, RandomIsSeeded) {
  EXPECT_EQ(RunBody(R"py(
torch.manual_seed(3)
a = torch.randn(1000)
b = torch.randn(1000)
torch.manual_seed(3)
assert torch.equal(a, torch.randn(1000)) and not torch.equal(a, b)
assert abs(a.mean().item()) < 0.15 and abs(a.std().item() - 1) < 0.1
r = torch.rand(1000)
assert r.min().item() >= 0 and r.max().item() < 1
i = torch.randint(0, 10, (1000,))
assert i.min().item() == 0 and i.max().item() == 9
assert sorted(torch.randperm(50).tolist()) == list(range(50))
)py"),
            "");
}

TEST(Torch, AssertCloseSaysWhatTorchSays) {
  EXPECT_EQ(RunBody("torch.testing.assert_close(torch.ones(3), torch.ones(3) + 1e-7)\n"), "");
  const std::string values = RunBody("torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))\n");
  EXPECT_TRUE(absl::StrContains(values, "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
                                        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
                                        "Greatest relative difference: 0.2 at index (1,) (up to 1.3e-06 allowed)"))
      << values;
  EXPECT_TRUE(absl::StrContains(RunBody("torch.testing.assert_close(torch.ones(2), torch.ones(3))\n"),
                                "The values for attribute 'shape' do not match: torch.Size([2]) != torch.Size([3])."));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.testing.assert_close(torch.ones(2), torch.ones(2).half())\n"),
                                "The values for attribute 'dtype' do not match: torch.float32 != torch.float16."));
}

TEST(Torch, ErrorsNameTheFunctionAndTheLine) {
  EXPECT_TRUE(absl::StrContains(RunBody("torch.frobnicate(1)\n"), "test.py:4:1: error: 'torch.frobnicate' is not a torch function that tilevm has"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.zeros(2).softmax(dim=3)\n"), "Tensor.softmax: dimension out of range"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.zeros(2, typo=1)\n"), "torch.zeros: unexpected keyword argument 'typo'"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.zeros(2).backward()\n"), "gradients (autograd) are not supported"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.zeros(2).frobnicate()\n"), "method 'frobnicate' of torch.Tensor is not supported"));
}

TEST(TritonHost, DriverAndBenchmarks) {
  EXPECT_EQ(RunBody(R"py(
DEVICE = triton.runtime.driver.active.get_active_torch_device()
x = torch.rand(8, device=DEVICE)
p = triton.runtime.driver.active.utils.get_device_properties(DEVICE.index)
assert p["multiprocessor_count"] > 0
@triton.testing.perf_report(triton.testing.Benchmark(x_names=['n'], x_vals=[1], line_arg='p', line_vals=['a'], line_names=['A'], plot_name='x', args={}))
def bench(n, p):
    assert False
bench.run(print_data=True, save_path='.')
assert triton.cdiv(10, 4) == 3 and triton.next_power_of_2(781) == 1024
)py"),
            "");
  EXPECT_EQ(printed, "bench: skipped (perf_report does not run here)\n");
}

}  // namespace
}  // namespace tilevm::vm
