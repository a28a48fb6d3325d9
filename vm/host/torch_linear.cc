// Products of matrices, and the functions of torch.nn that are made of them. Every product is accumulated in double and rounded once.
#include <algorithm>
#include <cmath>
#include <thread>

#include "absl/strings/str_cat.h"
#include "vm/host/convert.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

// c[m,n] = a[m,k] @ b[k,n], row-major doubles. Blocks of k keep the rows of b in cache.
void Multiply(const double* a, const double* b, double* c, int64_t m_begin, int64_t m_end, int64_t n, int64_t k) {
  constexpr int64_t kBlockK = 64, kBlockN = 512;
  for (int64_t n0 = 0; n0 < n; n0 += kBlockN) {
    const int64_t n1 = std::min(n, n0 + kBlockN);
    for (int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      const int64_t k1 = std::min(k, k0 + kBlockK);
      for (int64_t i = m_begin; i < m_end; ++i) {
        double* row = c + i * n;
        for (int64_t p = k0; p < k1; ++p) {
          const double x = a[i * k + p];
          const double* other = b + p * n;
          for (int64_t j = n0; j < n1; ++j) row[j] += x * other[j];
        }
      }
    }
  }
}

absl::StatusOr<std::vector<double>> Doubles(const Tensor& t) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, Contiguous(t));
  std::vector<double> out(x.numel());
  LoadElems(x.dtype, x.data(), x.numel(), out.data());
  return out;
}

}  // namespace

absl::StatusOr<Tensor> MatMul(const Tensor& a_in, const Tensor& b_in) {
  if (a_in.rank() == 0 || b_in.rank() == 0) return absl::InvalidArgumentError("both tensors need at least 1 dimension");
  if (a_in.dtype != b_in.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("both tensors need the same dtype, not ", TorchName(a_in.dtype), " and ", TorchName(b_in.dtype)));
  }
  Tensor a = a_in, b = b_in;
  if (a.rank() == 1) a.shape.insert(a.shape.begin(), 1), a.strides.insert(a.strides.begin(), 0);
  if (b.rank() == 1) b.shape.push_back(1), b.strides.push_back(0);
  const int64_t m = a.shape[a.rank() - 2], k = a.shape.back(), n = b.shape.back();
  if (b.shape[b.rank() - 2] != k) {
    if (a_in.rank() == 2 && b_in.rank() == 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("mat1 and mat2 shapes cannot be multiplied (", m, "x", k, " and ", b.shape[b.rank() - 2], "x", n, ")"));
    }
    return absl::InvalidArgumentError(absl::StrCat("shapes ", isa::ShapeToString(a_in.shape), " and ", isa::ShapeToString(b_in.shape),
                                                   " cannot be multiplied: ", k, " columns, ", b.shape[b.rank() - 2], " rows"));
  }
  const Shape batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  TILEVM_ASSIGN_OR_RETURN(Shape batch, BroadcastShapes(batch_a, batch_b));
  Shape full_a = batch, full_b = batch, full_c = batch;
  full_a.insert(full_a.end(), {m, k});
  full_b.insert(full_b.end(), {k, n});
  full_c.insert(full_c.end(), {m, n});
  TILEVM_ASSIGN_OR_RETURN(a, ExpandTo(a, full_a));
  TILEVM_ASSIGN_OR_RETURN(b, ExpandTo(b, full_b));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> x, Doubles(a));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> y, Doubles(b));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(a.dtype, full_c, Fill::kZero));
  const int64_t count = isa::ElemCount(batch);
  std::vector<double> c(m * n);
  for (int64_t i = 0; i < count; ++i) {
    std::fill(c.begin(), c.end(), 0.0);
    const double* xi = x.data() + i * m * k;
    const double* yi = y.data() + i * k * n;
    const int64_t threads = static_cast<double>(m) * n * k < 1e7 ? 1 : std::max<int64_t>(1, std::min<int64_t>(std::thread::hardware_concurrency(), 16));
    const int64_t rows = (m + threads - 1) / threads;
    std::vector<std::thread> workers;
    for (int64_t w = 1; w < threads; ++w) {
      workers.emplace_back([&, w] { Multiply(xi, yi, c.data(), std::min(m, w * rows), std::min(m, (w + 1) * rows), n, k); });
    }
    Multiply(xi, yi, c.data(), 0, std::min(m, rows), n, k);
    for (std::thread& worker : workers) worker.join();
    StoreElems(out.dtype, out.data() + i * m * n * out.item_bytes(), m * n, c.data());
  }
  Shape shape = batch;
  if (a_in.rank() > 1) shape.push_back(m);
  if (b_in.rank() > 1) shape.push_back(n);
  return Reshaped(out, shape, true);
}

namespace {

absl::StatusOr<Value> MatMulOp(HostCall& call) {  // 0 matmul, 1 mm, 2 bmm
  TILEVM_ASSIGN_OR_RETURN(Tensor a, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor b, call.TensorArg(1));
  if (call.tag > 0 && (a.rank() != call.tag + 1 || b.rank() != call.tag + 1)) return call.Error("two tensors with ", call.tag + 1, " dimensions are wanted");
  TILEVM_ASSIGN_OR_RETURN(Tensor out, MatMul(a, b));
  if (call.given_not_none(2)) {
    TILEVM_ASSIGN_OR_RETURN(Tensor target, call.TensorArg(2));
    TILEVM_RETURN_IF_ERROR(CopyInto(target, out));
    return call.args[2];
  }
  return MakeTensorValue(out);
}

absl::StatusOr<Value> AddMM(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor a, call.TensorArg(1));
  TILEVM_ASSIGN_OR_RETURN(Tensor b, call.TensorArg(2));
  TILEVM_ASSIGN_OR_RETURN(Tensor product, MatMul(a, b));
  return BinaryOperator(call.evaluator, isa::Op::kAdd, call.args[0], MakeTensorValue(product), call.loc);
}

absl::StatusOr<Value> Linear(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor w, call.TensorArg(1));
  if (w.rank() != 2) return call.Error("a weight with 2 dimensions is wanted");
  TILEVM_ASSIGN_OR_RETURN(Tensor product, MatMul(x, Transposed(w, 0, 1)));
  if (!call.given_not_none(2)) return MakeTensorValue(product);
  return BinaryOperator(call.evaluator, isa::Op::kAdd, MakeTensorValue(product), call.args[2], call.loc);
}

absl::StatusOr<Value> Outer(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor a, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor b, call.TensorArg(1));
  if (a.rank() != 1 || b.rank() != 1) return call.Error("two 1-d tensors are wanted");
  TILEVM_ASSIGN_OR_RETURN(a, Reshaped(a, {a.shape[0], 1}, false));
  return BinaryOperator(call.evaluator, isa::Op::kMul, MakeTensorValue(a), MakeTensorValue(b), call.loc);
}

// layer_norm (0) and rms_norm (1) over the trailing dimensions of normalized_shape.
absl::StatusOr<Value> Normalise(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape normalized, call.ShapeArg(1));
  const bool rms = call.tag == 1;
  const size_t eps_at = rms ? 3 : 4;
  double eps = 1e-5;
  if (rms)
    eps = x.dtype == DType::kF64 ? 2.220446049250313e-16 : x.dtype == DType::kF16 ? 9.765625e-4 : x.dtype == DType::kBF16 ? 7.8125e-3 : 1.1920928955078125e-7;
  TILEVM_ASSIGN_OR_RETURN(eps, call.FloatArg(eps_at, eps));
  if (normalized.size() > x.shape.size() || !std::equal(normalized.rbegin(), normalized.rend(), x.shape.rbegin())) {
    return call.Error("normalized_shape ", isa::ShapeToString(normalized), " does not end the shape ", isa::ShapeToString(x.shape));
  }
  const int64_t inner = isa::ElemCount(normalized);
  std::vector<double> weight(inner, 1.0), bias(inner, 0.0);
  if (call.given_not_none(2)) {
    TILEVM_ASSIGN_OR_RETURN(Tensor w, call.TensorArg(2));
    if (w.numel() != inner) return call.Error("weight has ", w.numel(), " elements, not ", inner);
    TILEVM_ASSIGN_OR_RETURN(weight, Doubles(w));
  }
  if (!rms && call.given_not_none(3)) {
    TILEVM_ASSIGN_OR_RETURN(Tensor b, call.TensorArg(3));
    if (b.numel() != inner) return call.Error("bias has ", b.numel(), " elements, not ", inner);
    TILEVM_ASSIGN_OR_RETURN(bias, Doubles(b));
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> v, Doubles(x));
  const int64_t rows = inner == 0 ? 0 : x.numel() / inner;
  for (int64_t r = 0; r < rows; ++r) {
    double* row = v.data() + r * inner;
    double mean = 0, squares = 0;
    if (!rms) {
      for (int64_t i = 0; i < inner; ++i) mean += row[i];
      mean /= static_cast<double>(inner);
    }
    for (int64_t i = 0; i < inner; ++i) squares += (row[i] - mean) * (row[i] - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(inner) + eps);
    for (int64_t i = 0; i < inner; ++i) row[i] = (row[i] - mean) * scale * weight[i] + bias[i];
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(x.dtype, x.shape, Fill::kZero));
  StoreElems(out.dtype, out.data(), out.numel(), v.data());
  return MakeTensorValue(out);
}

// softmax(q k^T * scale) v over the last two dimensions.
absl::StatusOr<Value> Attention(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor q, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor k, call.TensorArg(1));
  TILEVM_ASSIGN_OR_RETURN(Tensor v, call.TensorArg(2));
  TILEVM_ASSIGN_OR_RETURN(double dropout, call.FloatArg(4, 0));
  TILEVM_ASSIGN_OR_RETURN(bool causal, call.BoolArg(5, false));
  if (dropout != 0) return UnimplementedAt(call.loc, call.name, ": dropout_p is not supported");
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) return call.Error("tensors with at least 2 dimensions are wanted");
  TILEVM_ASSIGN_OR_RETURN(double scale, call.FloatArg(6, 1 / std::sqrt(static_cast<double>(q.shape.back()))));
  const DType dtype = q.dtype;
  TILEVM_ASSIGN_OR_RETURN(q, CastTo(q, DType::kF64));
  TILEVM_ASSIGN_OR_RETURN(k, CastTo(k, DType::kF64));
  TILEVM_ASSIGN_OR_RETURN(v, CastTo(v, DType::kF64));
  TILEVM_ASSIGN_OR_RETURN(Tensor scores, MatMul(q, Transposed(k, k.rank() - 2, k.rank() - 1)));
  Value s = MakeTensorValue(scores);
  TILEVM_ASSIGN_OR_RETURN(s, BinaryOperator(call.evaluator, isa::Op::kMul, s, Value::Float(scale), call.loc));
  if (call.given_not_none(3)) {
    TILEVM_ASSIGN_OR_RETURN(Tensor mask, call.TensorArg(3));
    if (mask.dtype == DType::kI1) return UnimplementedAt(call.loc, call.name, ": a boolean attn_mask is not supported");
    TILEVM_ASSIGN_OR_RETURN(s, BinaryOperator(call.evaluator, isa::Op::kAdd, s, call.args[3], call.loc));
  }
  Tensor weights = AsTensor(s)->tensor;
  const int64_t cols = weights.shape.back(), rows = weights.shape[weights.rank() - 2];
  double* w = reinterpret_cast<double*>(weights.data());
  for (int64_t r = 0; cols > 0 && r < weights.numel() / cols; ++r) {
    double* row = w + r * cols;
    double largest = -INFINITY, total = 0;
    const int64_t visible = causal ? std::min(cols, r % rows + 1) : cols;
    for (int64_t j = 0; j < visible; ++j) largest = std::max(largest, row[j]);
    for (int64_t j = 0; j < cols; ++j) row[j] = j < visible ? std::exp(row[j] - largest) : 0;
    for (int64_t j = 0; j < visible; ++j) total += row[j];
    for (int64_t j = 0; j < visible; ++j) row[j] /= total;
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, MatMul(weights, v));
  TILEVM_ASSIGN_OR_RETURN(out, CastTo(out, dtype));
  return MakeTensorValue(out);
}

constexpr HostOp kOps[] = {
    {"matmul .matmul linalg.matmul", "input other | out?", MatMulOp, 0},
    {"mm .mm", "input mat2 | out?", MatMulOp, 1},
    {"bmm .bmm", "input mat2 | out?", MatMulOp, 2},
    {"dot .dot", "input tensor | out?", MatMulOp, 0},
    {"mv .mv", "input vec | out?", MatMulOp, 0},
    {"einsum", "equation operands*", EinsumOp},
    {"addmm .addmm", "input mat1 mat2", AddMM},
    {"outer .outer", "input vec2", Outer},
    {"nn.functional.linear", "input weight bias?", Linear},
    {"nn.functional.layer_norm", "input normalized_shape weight? bias? eps?", Normalise, 0},
    {"nn.functional.rms_norm", "input normalized_shape weight? eps?", Normalise, 1},
    {"nn.functional.scaled_dot_product_attention", "query key value attn_mask? dropout_p? is_causal? | scale? enable_gqa?", Attention},
};

}  // namespace

absl::Span<const HostOp> LinearOps() { return kOps; }

}  // namespace tilevm::vm::host
