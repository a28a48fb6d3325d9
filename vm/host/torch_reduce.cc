// Reductions, scans, sorts and softmax. Sums of floats are taken in double and rounded once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "vm/host/convert.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

// The tensor with the reduced dimensions last and contiguous: rows of `inner` elements.
struct Rows {
  Tensor data;       // contiguous
  int64_t outer = 1, inner = 1;
  Shape kept;        // extents of the other dimensions
  Shape kept_one;    // the same with 1 for the reduced ones
};

absl::StatusOr<Rows> RowsOf(const Tensor& t, const std::vector<int>& dims) {
  Rows rows;
  Tensor moved = t;
  moved.shape.clear();
  moved.strides.clear();
  const auto reduced = [&](int d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
  for (int d = 0; d < t.rank(); ++d) {
    rows.kept_one.push_back(reduced(d) ? 1 : t.shape[d]);
    if (reduced(d)) continue;
    moved.shape.push_back(t.shape[d]);
    moved.strides.push_back(t.strides[d]);
    rows.outer *= t.shape[d];
  }
  rows.kept = moved.shape;
  for (int d = 0; d < t.rank(); ++d) {
    if (!reduced(d)) continue;
    moved.shape.push_back(t.shape[d]);
    moved.strides.push_back(t.strides[d]);
    rows.inner *= t.shape[d];
  }
  TILEVM_ASSIGN_OR_RETURN(rows.data, Contiguous(moved));
  return rows;
}

// Calls f(row, values) with each row as C.
template <typename C, typename F>
void ForRows(const Rows& rows, const F& f) {
  std::vector<C> values(rows.inner);
  for (int64_t r = 0; r < rows.outer; ++r) {
    LoadElems(rows.data.dtype, rows.data.data() + r * rows.inner * rows.data.item_bytes(), rows.inner, values.data());
    f(r, values);
  }
}

absl::StatusOr<Tensor> NewResult(const Rows& rows, DType dtype, bool keepdim) {
  return Tensor::Make(dtype, keepdim ? rows.kept_one : rows.kept, Fill::kZero);
}

template <typename C>
void Put(Tensor& t, int64_t i, C x) {
  StoreElems(t.dtype, t.data() + i * t.item_bytes(), 1, &x);
}

enum SumTag { kSum, kMean, kProd, kVar, kStd, kNorm, kLogSumExp, kCountNonzero };

absl::StatusOr<Value> Sum(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(bool keepdim, call.BoolArg(2, false));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(3, isa::IsFloat(t.dtype) ? t.dtype : DType::kI64));
  if (call.tag == kMean && !isa::IsFloat(dtype)) return call.Error("mean of dtype ", TorchName(t.dtype), " is not defined; give a floating point dtype");
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, dims));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, NewResult(rows, dtype, keepdim));
  if (!isa::IsFloat(dtype) && !isa::IsFloat(t.dtype)) {
    ForRows<int64_t>(rows, [&](int64_t r, const std::vector<int64_t>& v) {
      uint64_t total = call.tag == kProd ? 1 : 0;
      for (int64_t x : v) total = call.tag == kProd ? total * static_cast<uint64_t>(x) : total + static_cast<uint64_t>(x);
      Put(out, r, static_cast<int64_t>(total));
    });
  } else {
    ForRows<double>(rows, [&](int64_t r, const std::vector<double>& v) {
      double total = call.tag == kProd ? 1 : 0;
      for (double x : v) total = call.tag == kProd ? total * x : total + x;
      Put(out, r, call.tag == kMean ? total / static_cast<double>(v.size()) : total);
    });
  }
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Spread(HostCall& call) {  // var, std
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  double correction = 1;
  if (call.args[1].is(ValueKind::kBool)) {  // var(unbiased)
    correction = call.args[1].bool_value() ? 1 : 0;
    call.args[1] = Value();
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(bool keepdim, call.BoolArg(3, false));
  if (call.given_not_none(2)) {
    TILEVM_ASSIGN_OR_RETURN(bool unbiased, call.BoolArg(2, true));
    correction = unbiased ? 1 : 0;
  }
  TILEVM_ASSIGN_OR_RETURN(correction, call.FloatArg(4, correction));
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, dims));
  if (!isa::IsFloat(t.dtype)) return call.Error("not for dtype ", TorchName(t.dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, NewResult(rows, t.dtype, keepdim));
  ForRows<double>(rows, [&](int64_t r, const std::vector<double>& v) {
    const double n = static_cast<double>(v.size()), mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
    double squares = 0;
    for (double x : v) squares += (x - mean) * (x - mean);
    const double variance = squares / (n - correction);
    Put(out, r, call.tag == kStd ? std::sqrt(variance) : variance);
  });
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Norm(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(double p, call.FloatArg(1, 2));
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(2, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(bool keepdim, call.BoolArg(3, false));
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, dims));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, NewResult(rows, isa::IsFloat(t.dtype) ? t.dtype : DType::kF32, keepdim));
  ForRows<double>(rows, [&](int64_t r, const std::vector<double>& v) {
    double total = 0;
    for (double x : v) total = std::isinf(p) ? std::max(total, std::fabs(x)) : total + std::pow(std::fabs(x), p);
    Put(out, r, std::isinf(p) ? total : std::pow(total, 1 / p));
  });
  return MakeTensorValue(out);
}

absl::StatusOr<Value> LogSumExp(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(bool keepdim, call.BoolArg(2, false));
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, dims));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, NewResult(rows, isa::IsFloat(t.dtype) ? t.dtype : DType::kF32, keepdim));
  ForRows<double>(rows, [&](int64_t r, const std::vector<double>& v) {
    double largest = -INFINITY, total = 0;
    for (double x : v) largest = std::max(largest, x);
    for (double x : v) total += std::exp(x - (std::isinf(largest) ? 0 : largest));
    Put(out, r, std::log(total) + (std::isinf(largest) ? 0 : largest));
  });
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Logical(HostCall& call) {  // all (0), any (1), count_nonzero (2)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(bool keepdim, call.BoolArg(2, false));
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, dims));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, NewResult(rows, call.tag == 2 ? DType::kI64 : DType::kI1, keepdim));
  ForRows<double>(rows, [&](int64_t r, const std::vector<double>& v) {
    const int64_t nonzero = std::count_if(v.begin(), v.end(), [](double x) { return x != 0; });
    const int64_t result = call.tag == 2 ? nonzero : call.tag == 0 ? nonzero == static_cast<int64_t>(v.size()) : nonzero > 0;
    Put(out, r, result);
  });
  return MakeTensorValue(out);
}

// NaN is the extreme, as torch has it.
bool Better(double x, double best, bool maximum) {
  if (std::isnan(best)) return false;
  if (std::isnan(x)) return true;
  return maximum ? x > best : x < best;
}

Value Pair(absl::string_view name, Tensor values, Tensor indices) {
  return specializer::MakeNamedTuple(absl::StrCat("torch.return_types.", name), {"values", "indices"},
                                     {MakeTensorValue(std::move(values)), MakeTensorValue(std::move(indices))});
}

// 1: maximum; 2: indices only (argmax, argmin); 4: values only (amax, amin).
absl::StatusOr<Value> Extreme(HostCall& call) {
  if (AsTensor(call.args[1]) != nullptr) {  // torch.max(a, b)
    const HostOp* op = FindTorchFunction(call.tag & 1 ? "maximum" : "minimum");
    return CallHostOp(call.evaluator, *op, call.name, Value(), CallArgs{{call.args[0], call.args[1]}, {}}, call.loc);
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  const bool whole = call.args[1].absent_or_none();
  std::vector<int> dims;
  if (call.tag & 4) {
    TILEVM_ASSIGN_OR_RETURN(dims, call.DimsArg(1, t.rank()));
  } else if (whole) {
    for (int d = 0; d < t.rank(); ++d) dims.push_back(d);
  } else {
    TILEVM_ASSIGN_OR_RETURN(int d, call.DimArg(1, t.rank()));
    if (t.rank() > 0) dims.push_back(d);
  }
  TILEVM_ASSIGN_OR_RETURN(bool keepdim, call.BoolArg(2, false));
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, dims));
  if (rows.inner == 0) return call.Error("an empty dimension has no extreme");
  TILEVM_ASSIGN_OR_RETURN(Tensor values, NewResult(rows, t.dtype, keepdim));
  TILEVM_ASSIGN_OR_RETURN(Tensor indices, NewResult(rows, DType::kI64, keepdim));
  const bool maximum = (call.tag & 1) != 0;
  const auto put = [&](int64_t r, int64_t at) {
    const int64_t item = t.item_bytes();
    const std::byte* from = rows.data.data() + (r * rows.inner + at) * item;
    std::copy(from, from + item, values.data() + r * item);
    Put(indices, r, at);
  };
  if (isa::IsFloat(t.dtype)) {
    ForRows<double>(rows, [&](int64_t r, const std::vector<double>& v) {
      int64_t at = 0;
      for (int64_t i = 1; i < rows.inner; ++i) {
        if (Better(v[i], v[at], maximum)) at = i;
      }
      put(r, at);
    });
  } else {
    ForRows<int64_t>(rows, [&](int64_t r, const std::vector<int64_t>& v) {
      put(r, (maximum ? std::max_element(v.begin(), v.end()) : std::min_element(v.begin(), v.end())) - v.begin());
    });
  }
  if (call.tag & 2) return MakeTensorValue(indices);
  if (whole || (call.tag & 4)) return MakeTensorValue(values);
  return Pair(maximum ? "max" : "min", values, indices);
}

// Runs f on every row along one dimension; the result has the tensor's shape.
template <typename C, typename F>
absl::StatusOr<Tensor> AlongDim(const Tensor& t, int dim, DType dtype, const F& f) {
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, t.rank() == 0 ? std::vector<int>{} : std::vector<int>{dim}));
  Shape shape = rows.kept;
  if (t.rank() > 0) shape.push_back(t.shape[dim]);
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(dtype, shape, Fill::kZero));
  ForRows<C>(rows, [&](int64_t r, std::vector<C>& v) {
    f(v);
    StoreElems(dtype, out.data() + r * rows.inner * out.item_bytes(), rows.inner, v.data());
  });
  if (t.rank() == 0) return out;
  Tensor moved = out;  // the last dimension back to its place
  for (int d = t.rank() - 1; d > dim; --d) moved = Transposed(moved, d, d - 1);
  return Contiguous(moved);
}

absl::StatusOr<Value> Softmax(HostCall& call) {  // softmax (0), log_softmax (1)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(1, t.rank(), t.rank() == 0 || t.rank() == 1 || t.rank() == 3 ? 0 : 1));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(2, t.dtype));
  if (!isa::IsFloat(dtype)) return call.Error("not for dtype ", TorchName(dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor x, CastTo(t, dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, AlongDim<double>(x, dim, dtype, [&](std::vector<double>& v) {
    double largest = -INFINITY, total = 0;
    for (double e : v) largest = std::max(largest, e);
    for (double e : v) total += std::exp(e - largest);
    for (double& e : v) e = call.tag == 0 ? std::exp(e - largest) / total : e - largest - std::log(total);
  }));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Cumulate(HostCall& call) {  // cumsum (0), cumprod (1)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(2, isa::IsFloat(t.dtype) ? t.dtype : DType::kI64));
  const bool product = call.tag == 1;
  const auto run = [&](auto& v) {
    for (size_t i = 1; i < v.size(); ++i) v[i] = product ? v[i] * v[i - 1] : v[i] + v[i - 1];
  };
  if (isa::IsFloat(dtype)) {
    TILEVM_ASSIGN_OR_RETURN(Tensor out, AlongDim<double>(t, dim, dtype, [&](std::vector<double>& v) { run(v); }));
    return MakeTensorValue(out);
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, AlongDim<int64_t>(t, dim, dtype, [&](std::vector<int64_t>& v) {
    uint64_t total = product ? 1 : 0;
    for (int64_t& x : v) {
      total = product ? total * static_cast<uint64_t>(x) : total + static_cast<uint64_t>(x);
      x = static_cast<int64_t>(total);
    }
  }));
  return MakeTensorValue(out);
}

// Values and indices in order along a dimension, NaN as the largest; equal ones keep their order. count < 0: all.
absl::StatusOr<std::pair<Tensor, Tensor>> Ordered(const Tensor& t, int dim, bool descending, int64_t count) {
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, t.rank() == 0 ? std::vector<int>{} : std::vector<int>{dim}));
  const int64_t take = count < 0 ? rows.inner : count;
  Shape shape = rows.kept;
  if (t.rank() > 0) shape.push_back(take);
  TILEVM_ASSIGN_OR_RETURN(Tensor values, Tensor::Make(t.dtype, shape, Fill::kZero));
  TILEVM_ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kI64, shape, Fill::kZero));
  const int64_t item = t.item_bytes();
  const auto place = [&](int64_t r, auto& v, auto less) {
    std::vector<int64_t> order(v.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return descending ? less(v[b], v[a]) : less(v[a], v[b]); });
    for (int64_t i = 0; i < take; ++i) {
      const std::byte* from = rows.data.data() + (r * rows.inner + order[i]) * item;
      std::copy(from, from + item, values.data() + (r * take + i) * item);
      Put(indices, r * take + i, order[i]);
    }
  };
  if (isa::IsFloat(t.dtype)) {
    ForRows<double>(rows, [&](int64_t r, std::vector<double>& v) {
      place(r, v, [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
    });
  } else {
    ForRows<int64_t>(rows, [&](int64_t r, std::vector<int64_t>& v) { place(r, v, [](int64_t a, int64_t b) { return a < b; }); });
  }
  for (int d = t.rank() - 1; d > dim; --d) {
    values = Transposed(values, d, d - 1);
    indices = Transposed(indices, d, d - 1);
  }
  TILEVM_ASSIGN_OR_RETURN(values, Contiguous(values));
  TILEVM_ASSIGN_OR_RETURN(indices, Contiguous(indices));
  return std::make_pair(values, indices);
}

absl::StatusOr<Value> Sort(HostCall& call) {  // sort (0), argsort (1)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(1, t.rank(), -1));
  TILEVM_ASSIGN_OR_RETURN(bool descending, call.BoolArg(2, false));
  TILEVM_ASSIGN_OR_RETURN(auto ordered, Ordered(t, dim, descending, -1));
  if (call.tag == 1) return MakeTensorValue(ordered.second);
  return Pair("sort", ordered.first, ordered.second);
}

absl::StatusOr<Value> TopK(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int64_t k, call.IntArg(1));
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(2, t.rank(), -1));
  TILEVM_ASSIGN_OR_RETURN(bool largest, call.BoolArg(3, true));
  if (k < 0 || k > (t.rank() == 0 ? 1 : t.shape[dim])) return call.Error("k is out of range");
  TILEVM_ASSIGN_OR_RETURN(auto ordered, Ordered(t, dim, largest, k));
  return Pair("topk", ordered.first, ordered.second);
}

absl::StatusOr<Value> Bincount(HostCall& call) {  // bincount(input, minlength)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int64_t bins, call.IntArg(1, 0));
  if (isa::IsFloat(t.dtype) || t.rank() != 1) return call.Error("a 1-d tensor of integers is wanted");
  TILEVM_ASSIGN_OR_RETURN(Rows rows, RowsOf(t, {0}));
  std::vector<int64_t> counts(bins);
  bool bad = false;
  ForRows<int64_t>(rows, [&](int64_t, const std::vector<int64_t>& v) {
    for (int64_t x : v) {
      if (x < 0 || x > (int64_t{1} << 30)) {
        bad = true;
        continue;
      }
      if (x >= static_cast<int64_t>(counts.size())) counts.resize(x + 1);
      ++counts[x];
    }
  });
  if (bad) return call.Error("values must lie in 0 .. 2**30");
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kI64, {static_cast<int64_t>(counts.size())}, Fill::kZero));
  StoreElems(DType::kI64, out.data(), out.numel(), counts.data());
  return MakeTensorValue(out);
}

constexpr HostOp kOps[] = {
    {"sum .sum", "input dim/axis? keepdim/keepdims? | dtype? out?", Sum, kSum},
    {"mean .mean", "input dim/axis? keepdim/keepdims? | dtype? out?", Sum, kMean},
    {"prod .prod", "input dim/axis? keepdim/keepdims? | dtype? out?", Sum, kProd},
    {"var .var", "input dim/axis? unbiased? keepdim? | correction?", Spread, kVar},
    {"std .std", "input dim/axis? unbiased? keepdim? | correction?", Spread, kStd},
    {"norm .norm linalg.norm linalg.vector_norm", "input p/ord? dim/axis? keepdim?", Norm},
    {"logsumexp .logsumexp", "input dim/axis keepdim?", LogSumExp},
    {"all .all", "input dim/axis? keepdim?", Logical, 0},
    {"any .any", "input dim/axis? keepdim?", Logical, 1},
    {"count_nonzero .count_nonzero", "input dim/axis? keepdim?", Logical, 2},
    {"max .max", "input dim/axis/other? keepdim?", Extreme, 1},
    {"min .min", "input dim/axis/other? keepdim?", Extreme, 0},
    {"argmax .argmax", "input dim/axis? keepdim?", Extreme, 3},
    {"argmin .argmin", "input dim/axis? keepdim?", Extreme, 2},
    {"amax .amax", "input dim/axis? keepdim?", Extreme, 5},
    {"amin .amin", "input dim/axis? keepdim?", Extreme, 4},
    {"softmax .softmax nn.functional.softmax", "input dim/axis? | dtype? _stacklevel?", Softmax, 0},
    {"log_softmax .log_softmax nn.functional.log_softmax", "input dim/axis? | dtype? _stacklevel?", Softmax, 1},
    {"cumsum .cumsum", "input dim/axis | dtype?", Cumulate, 0},
    {"cumprod .cumprod", "input dim/axis | dtype?", Cumulate, 1},
    {"sort .sort", "input dim/axis? descending? | stable?", Sort, 0},
    {"argsort .argsort", "input dim/axis? descending? | stable?", Sort, 1},
    {"topk .topk", "input k dim? largest? sorted?", TopK},
    {"bincount .bincount", "input minlength?", Bincount},
};

}  // namespace

absl::Span<const HostOp> ReduceOps() { return kOps; }

}  // namespace tilevm::vm::host
