// A tensor as text, the way torch prints one: four decimals, equal widths, three items at each end of a long dimension.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "vm/host/tensor.h"

namespace tilevm::vm::host {
namespace {

constexpr int64_t kSummariseFrom = 1000;
constexpr int64_t kEdgeItems = 3;

struct Formatter {
  const Tensor& tensor;
  bool summarise = false;
  bool all_integral = true;   // floats print as "1."
  bool scientific = false;
  size_t width = 0;

  std::string One(int64_t index) const {
    const Value v = ElementAt(tensor, index);
    if (!v.is(specializer::ValueKind::kFloat)) return specializer::Str(v);
    const double x = v.float_value();
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    if (scientific) return absl::StrFormat("%.4e", x);
    if (all_integral) return absl::StrFormat("%.0f.", x);
    return absl::StrFormat("%.4f", x);
  }

  // Visits the indices that are printed.
  template <typename F>
  void Visit(size_t dim, int64_t base, const F& f) const {
    if (dim == tensor.shape.size()) {
      f(base);
      return;
    }
    const int64_t n = tensor.shape[dim];
    for (int64_t i = 0; i < n; ++i) {
      if (summarise && n > 2 * kEdgeItems && i == kEdgeItems) i = n - kEdgeItems;
      Visit(dim + 1, base * n + i, f);
    }
  }

  void Measure() {
    double least = INFINITY, largest = 0;
    Visit(0, 0, [&](int64_t i) {
      const Value v = ElementAt(tensor, i);
      if (!v.is(specializer::ValueKind::kFloat) || !std::isfinite(v.float_value())) return;
      const double x = std::fabs(v.float_value());
      if (x != std::floor(x)) all_integral = false;
      if (x != 0) least = std::min(least, x);
      largest = std::max(largest, x);
    });
    if (largest > 0) scientific = largest / least > 1000 || largest > 1e8 || (!all_integral && least < 1e-4);
    if (all_integral && largest <= 1e8) scientific = false;
    Visit(0, 0, [&](int64_t i) { width = std::max(width, One(i).size()); });
  }

  std::string Text(size_t dim, int64_t base) const {
    if (dim == tensor.shape.size()) {
      const std::string one = One(base);
      return dim == 0 ? one : std::string(width - one.size(), ' ') + one;
    }
    const int64_t n = tensor.shape[dim];
    std::vector<std::string> parts;
    for (int64_t i = 0; i < n; ++i) {
      if (summarise && n > 2 * kEdgeItems && i == kEdgeItems) {
        parts.push_back("...");
        i = n - kEdgeItems;
      }
      parts.push_back(Text(dim + 1, base * n + i));
    }
    const size_t below = tensor.shape.size() - dim - 1;
    if (below > 0) {
      return absl::StrCat("[", absl::StrJoin(parts, absl::StrCat(",", std::string(below, '\n'), std::string(8 + dim, ' '))), "]");
    }
    // Lines of at most 80 characters.
    std::string out = "[";
    size_t column = 8 + dim;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) {
        out += ",";
        column += 2 + parts[i].size();
        if (column > 80) {
          absl::StrAppend(&out, "\n", std::string(8 + dim, ' '));
          column = 8 + dim + parts[i].size();
        } else {
          out += " ";
        }
      } else {
        column += parts[i].size();
      }
      out += parts[i];
    }
    return out + "]";
  }
};

}  // namespace

std::string FormatTensor(const Tensor& tensor) {
  Formatter formatter{tensor};
  formatter.summarise = tensor.numel() > kSummariseFrom;
  if (tensor.numel() > 0) formatter.Measure();
  std::string suffix;
  if (tensor.numel() == 0 && tensor.rank() > 1) suffix = absl::StrCat(", size=(", absl::StrJoin(tensor.shape, ", "), ")");
  if (tensor.dtype != DType::kF32 && tensor.dtype != DType::kI64 && tensor.dtype != DType::kI1) {
    absl::StrAppend(&suffix, ", dtype=", TorchName(tensor.dtype));
  }
  if (tensor.numel() == 0) return absl::StrCat("tensor([]", suffix, ")");
  return absl::StrCat("tensor(", formatter.Text(0, 0), suffix, ")");
}

}  // namespace tilevm::vm::host
