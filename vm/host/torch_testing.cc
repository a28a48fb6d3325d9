// torch.allclose, torch.equal and torch.testing.assert_close, with torch's default tolerances and messages.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "specializer/partial_eval/exceptions.h"
#include "vm/host/convert.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

struct Tolerance {
  double rtol, atol;
};

Tolerance DefaultTolerance(DType dtype) {
  switch (dtype) {
    case DType::kF16: return {1e-3, 1e-5};
    case DType::kBF16: return {1.6e-2, 1e-5};
    case DType::kF32: return {1.3e-6, 1e-5};
    case DType::kF64: return {1e-7, 1e-7};
    default: return {0, 0};
  }
}

bool Close(double actual, double expected, Tolerance tolerance, bool equal_nan) {
  if (actual == expected) return true;
  if (std::isnan(actual) || std::isnan(expected)) return equal_nan && std::isnan(actual) && std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected)) return false;
  return std::fabs(actual - expected) <= tolerance.atol + tolerance.rtol * std::fabs(expected);
}

absl::StatusOr<std::vector<double>> Doubles(const Tensor& t) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, Contiguous(t));
  std::vector<double> out(x.numel());
  LoadElems(x.dtype, x.data(), x.numel(), out.data());
  return out;
}

std::string IndexText(int64_t flat, const Shape& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return absl::StrCat("(", absl::StrJoin(index, ", "), index.size() == 1 ? ",)" : ")");
}

absl::StatusOr<Value> AllClose(HostCall& call) {  // allclose (0), isclose (1)
  TILEVM_ASSIGN_OR_RETURN(Tensor a, call.TensorOrNumber(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor b, call.TensorOrNumber(1));
  Tolerance tolerance{1e-5, 1e-8};
  TILEVM_ASSIGN_OR_RETURN(tolerance.rtol, call.FloatArg(2, tolerance.rtol));
  TILEVM_ASSIGN_OR_RETURN(tolerance.atol, call.FloatArg(3, tolerance.atol));
  TILEVM_ASSIGN_OR_RETURN(bool equal_nan, call.BoolArg(4, false));
  if (a.dtype != b.dtype && AsTensor(call.args[0]) != nullptr && AsTensor(call.args[1]) != nullptr) {
    return call.Error("both tensors need the same dtype, not ", TorchName(a.dtype), " and ", TorchName(b.dtype));
  }
  TILEVM_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(a.shape, b.shape));
  TILEVM_ASSIGN_OR_RETURN(a, ExpandTo(a, shape));
  TILEVM_ASSIGN_OR_RETURN(b, ExpandTo(b, shape));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> x, Doubles(a));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> y, Doubles(b));
  if (call.tag == 1) {
    TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kI1, shape, Fill::kZero));
    for (size_t i = 0; i < x.size(); ++i) out.data()[i] = std::byte{Close(x[i], y[i], tolerance, equal_nan)};
    return MakeTensorValue(out);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Close(x[i], y[i], tolerance, equal_nan)) return Value::Bool(false);
  }
  ++call.world.checks()["allclose"];
  return Value::Bool(true);
}

absl::StatusOr<Value> Equal(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor a, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor b, call.TensorArg(1));
  if (a.shape != b.shape) return Value::Bool(false);
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> x, Doubles(a));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> y, Doubles(b));
  return Value::Bool(x == y);
}

std::string Number(double x) { return specializer::Str(Value::Float(x)); }

absl::Status CompareTensors(HostCall& call, const Tensor& actual, const Tensor& expected, absl::string_view prefix) {
  const auto fail = [&](const std::string& text) { return InvalidAt(call.loc, call.name, ": ", prefix, text); };
  TILEVM_ASSIGN_OR_RETURN(bool check_dtype, call.BoolArg(6, true));
  if (actual.shape != expected.shape) {
    return fail(absl::StrCat("The values for attribute 'shape' do not match: ", SizeText(actual.shape), " != ", SizeText(expected.shape), "."));
  }
  if (check_dtype && actual.dtype != expected.dtype) {
    return fail(absl::StrCat("The values for attribute 'dtype' do not match: ", TorchName(actual.dtype), " != ", TorchName(expected.dtype), "."));
  }
  const Tolerance a = DefaultTolerance(actual.dtype), b = DefaultTolerance(expected.dtype);
  Tolerance tolerance{std::max(a.rtol, b.rtol), std::max(a.atol, b.atol)};
  if (call.given_not_none(2) != call.given_not_none(3)) {
    return fail("both of 'rtol' and 'atol' must be given, or none");
  }
  TILEVM_ASSIGN_OR_RETURN(tolerance.rtol, call.FloatArg(2, tolerance.rtol));
  TILEVM_ASSIGN_OR_RETURN(tolerance.atol, call.FloatArg(3, tolerance.atol));
  TILEVM_ASSIGN_OR_RETURN(bool equal_nan, call.BoolArg(4, false));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> x, Doubles(actual));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> y, Doubles(expected));
  int64_t mismatched = 0, worst_absolute = 0, worst_relative = 0;
  double absolute = -1, relative = -1;
  const auto worse = [](double candidate, double best) { return !std::isnan(best) && (std::isnan(candidate) || candidate > best); };
  for (size_t i = 0; i < x.size(); ++i) {
    if (Close(x[i], y[i], tolerance, equal_nan)) continue;
    ++mismatched;
    const double difference = std::fabs(x[i] - y[i]), ratio = difference / std::fabs(y[i]);
    if (worse(difference, absolute)) absolute = difference, worst_absolute = static_cast<int64_t>(i);
    if (worse(ratio, relative)) relative = ratio, worst_relative = static_cast<int64_t>(i);
  }
  if (mismatched == 0) return absl::OkStatus();
  const bool exact = tolerance.rtol == 0 && tolerance.atol == 0;
  const auto allowed = [&](double t) { return exact ? std::string() : absl::StrCat(" (up to ", Number(t), " allowed)"); };
  if (actual.rank() == 0) {
    return fail(absl::StrCat("Scalars are not ", exact ? "equal" : "close", "!\n\nExpected ", Number(y[0]), " but got ", Number(x[0]),
                             ".\nAbsolute difference: ", Number(absolute), allowed(tolerance.atol), "\nRelative difference: ", Number(relative),
                             allowed(tolerance.rtol)));
  }
  return fail(absl::StrCat("Tensor-likes are not ", exact ? "equal" : "close", "!\n\nMismatched elements: ", mismatched, " / ", x.size(),
                           absl::StrFormat(" (%.1f%%)", 100.0 * static_cast<double>(mismatched) / static_cast<double>(x.size())),
                           "\nGreatest absolute difference: ", Number(absolute), " at index ", IndexText(worst_absolute, actual.shape), allowed(tolerance.atol),
                           "\nGreatest relative difference: ", Number(relative), " at index ", IndexText(worst_relative, actual.shape),
                           allowed(tolerance.rtol)));
}

absl::Status CompareValues(HostCall& call, const Value& actual, const Value& expected, const std::string& where) {
  if (specializer::NestsDeeper(actual, specializer::kMaxKernelNesting)) return call.Error("sequences nest more than ", specializer::kMaxKernelNesting, " deep");
  const auto sequence = [](const Value& v) { return v.is(ValueKind::kTuple) || v.is(ValueKind::kList); };
  if (sequence(actual) && sequence(expected)) {
    if (actual.items().size() != expected.items().size()) {
      return call.Error("The length of the sequences mismatch: ", actual.items().size(), " != ", expected.items().size());
    }
    for (size_t i = 0; i < actual.items().size(); ++i) {
      TILEVM_RETURN_IF_ERROR(CompareValues(call, actual.items()[i], expected.items()[i], absl::StrCat(where, "item [", i, "]: ")));
    }
    return absl::OkStatus();
  }
  const bool tensors = AsTensor(actual) != nullptr && AsTensor(expected) != nullptr;
  const bool numbers = actual.is_static_number() && expected.is_static_number();
  if (!tensors && !numbers) {
    return call.Error(where, "No comparison pair was able to handle inputs of type ", specializer::TypeName(actual, nullptr), " and ",
                      specializer::TypeName(expected, nullptr), ".");
  }
  TILEVM_ASSIGN_OR_RETURN(Operand a, MakeOperand(actual, call.name, call.loc));
  TILEVM_ASSIGN_OR_RETURN(Operand b, MakeOperand(expected, call.name, call.loc));
  if (numbers && a.tensor.dtype != b.tensor.dtype) {  // torch compares Python numbers of one type
    TILEVM_ASSIGN_OR_RETURN(a.tensor, CastTo(a.tensor, DType::kF64));
    TILEVM_ASSIGN_OR_RETURN(b.tensor, CastTo(b.tensor, DType::kF64));
  }
  return CompareTensors(call, a.tensor, b.tensor, where);
}

absl::StatusOr<Value> AssertClose(HostCall& call) {
  absl::Status status = CompareValues(call, call.args[0], call.args[1], "");
  if (!status.ok()) {
    const Value& message = call.args[5];
    if (message.is(ValueKind::kString)) status = InvalidAt(call.loc, call.name, ": ", message.string());
    return specializer::WithException(std::move(status), "builtins.AssertionError");
  }
  ++call.world.checks()[call.tag == 0 ? "assert_close" : "assert_allclose"];
  return Value::None();
}

constexpr HostOp kOps[] = {
    {"allclose .allclose", "input other rtol? atol? equal_nan?", AllClose, 0},
    {"isclose .isclose", "input other rtol? atol? equal_nan?", AllClose, 1},
    {"equal .equal", "input other", Equal},
    {"testing.assert_close", "actual expected rtol? atol? equal_nan? msg? check_dtype? check_device? check_stride? check_layout? allow_subclasses?", AssertClose, 0},
    {"testing.assert_allclose", "actual expected rtol? atol? equal_nan? msg? check_dtype?", AssertClose, 1},
};

}  // namespace

absl::Span<const HostOp> TestingOps() { return kOps; }

}  // namespace tilevm::vm::host
