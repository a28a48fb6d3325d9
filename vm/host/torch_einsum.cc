// torch.einsum: products of tensors by a formula of letters, "bij,bjk->bik".
//
// Two operands whose common letters are either kept or summed over are a product of matrices; everything else (one operand, three and more, a
// letter twice in one operand) is a loop over all letters, in double like every sum here.
#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "vm/host/convert.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

constexpr int64_t kMostTerms = int64_t{1} << 32;  // of the loop

struct Formula {
  std::vector<std::string> in;  // a letter for each dimension
  std::string out;
  absl::flat_hash_map<char, int64_t> extent;
};

bool Has(absl::string_view letters, char c) { return letters.find(c) != absl::string_view::npos; }

absl::StatusOr<Formula> Parse(const HostCall& call, const std::string& equation, const std::vector<Tensor>& operands) {
  const std::string text = absl::StrReplaceAll(equation, {{" ", ""}});
  if (absl::StrContains(text, ".")) return UnimplementedAt(call.loc, call.name, ": '...' in the equation is not supported; name the dimensions by letters");
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  if (sides.size() > 2) return call.Error("the equation '", equation, "' has more than one '->'");
  Formula formula;
  formula.in = absl::StrSplit(sides[0], ',');
  if (formula.in.size() != operands.size())
    return call.Error("the equation '", equation, "' has ", formula.in.size(), " operands, ", operands.size(), " are given");
  std::string once;  // letters that occur once, sorted: the result of an equation without one
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& letters = formula.in[i];
    if (static_cast<int>(letters.size()) != operands[i].rank()) {
      return call.Error("the subscripts '", letters, "' of operand ", i, " do not match its ", operands[i].rank(), " dimensions");
    }
    for (size_t d = 0; d < letters.size(); ++d) {
      if (!absl::ascii_isalpha(static_cast<unsigned char>(letters[d]))) return call.Error("'", letters.substr(d, 1), "' is no letter a dimension can have");
      const auto [known, added] = formula.extent.try_emplace(letters[d], operands[i].shape[d]);
      if (known->second != operands[i].shape[d]) {
        return call.Error("operand ", i, " has ", operands[i].shape[d], " elements for '", letters.substr(d, 1), "', another has ", known->second);
      }
    }
  }
  if (sides.size() == 2) {
    formula.out = sides[1];
  } else {
    for (const auto& [letter, extent] : formula.extent) {
      if (std::count(sides[0].begin(), sides[0].end(), letter) == 1) once.push_back(letter);
    }
    std::sort(once.begin(), once.end());
    formula.out = once;
  }
  for (size_t i = 0; i < formula.out.size(); ++i) {
    if (!formula.extent.contains(formula.out[i])) return call.Error("output subscript '", formula.out.substr(i, 1), "' does not appear in any operand");
    if (formula.out.find(formula.out[i]) != i) return call.Error("output subscript '", formula.out.substr(i, 1), "' appears twice");
  }
  return formula;
}

// The dimensions of `letters`, in the order of `wanted` (each of them is there, once).
Tensor Permuted(const Tensor& tensor, absl::string_view letters, absl::string_view wanted) {
  Tensor out = tensor;
  out.shape.clear();
  out.strides.clear();
  for (char c : wanted) {
    const size_t d = letters.find(c);
    out.shape.push_back(tensor.shape[d]);
    out.strides.push_back(tensor.strides[d]);
  }
  return out;
}

int64_t Product(const Formula& formula, absl::string_view letters) {
  int64_t product = 1;
  for (char c : letters) product *= formula.extent.at(c);
  return product;
}

bool IsMatrixProduct(const Formula& formula) {
  if (formula.in.size() != 2) return false;
  const std::string &a = formula.in[0], &b = formula.in[1];
  for (const std::string* letters : {&a, &b}) {
    const std::string& other = letters == &a ? b : a;
    for (size_t i = 0; i < letters->size(); ++i) {
      const char c = (*letters)[i];
      if (letters->find(c) != i || (!Has(other, c) && !Has(formula.out, c))) return false;
    }
  }
  return true;
}

absl::StatusOr<Tensor> AsMatrixProduct(const Formula& formula, const std::vector<Tensor>& operands) {
  const std::string &a = formula.in[0], &b = formula.in[1];
  std::string batch, left, right, summed;
  for (char c : a) (!Has(b, c) ? left : Has(formula.out, c) ? batch : summed).push_back(c);
  for (char c : b) {
    if (!Has(a, c)) right.push_back(c);
  }
  const int64_t batches = Product(formula, batch), m = Product(formula, left), n = Product(formula, right), k = Product(formula, summed);
  TILEVM_ASSIGN_OR_RETURN(Tensor x, Reshaped(Permuted(operands[0], a, absl::StrCat(batch, left, summed)), {batches, m, k}, false));
  TILEVM_ASSIGN_OR_RETURN(Tensor y, Reshaped(Permuted(operands[1], b, absl::StrCat(batch, summed, right)), {batches, k, n}, false));
  TILEVM_ASSIGN_OR_RETURN(Tensor product, MatMul(x, y));
  const std::string order = absl::StrCat(batch, left, right);
  Shape shape;
  for (char c : order) shape.push_back(formula.extent.at(c));
  TILEVM_ASSIGN_OR_RETURN(product, Reshaped(product, shape, false));
  return Contiguous(Permuted(product, order, formula.out));
}

absl::StatusOr<Tensor> AsLoop(const HostCall& call, const Formula& formula, const std::vector<Tensor>& operands) {
  std::string order = formula.out;  // the letters of the result, then those that are summed over
  for (const auto& [letter, extent] : formula.extent) {
    if (!Has(formula.out, letter)) order.push_back(letter);
  }
  absl::int128 terms = 1;
  for (char c : order) terms *= formula.extent.at(c);
  if (terms > kMostTerms) return ErrorAt(call.loc, absl::StatusCode::kResourceExhausted, call.name, ": more than ", kMostTerms, " products");
  std::vector<std::vector<double>> values(operands.size());
  std::vector<std::vector<int64_t>> steps(operands.size());  // of each operand's place, for each letter of `order`
  for (size_t i = 0; i < operands.size(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(Tensor dense, Contiguous(operands[i]));
    values[i].resize(static_cast<size_t>(dense.numel()));
    LoadElems(dense.dtype, dense.data(), dense.numel(), values[i].data());
    steps[i].assign(order.size(), 0);
    for (size_t d = 0; d < formula.in[i].size(); ++d) steps[i][order.find(formula.in[i][d])] += dense.strides[d];
  }
  Shape shape;
  for (char c : formula.out) shape.push_back(formula.extent.at(c));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(operands[0].dtype, shape, Fill::kZero));
  std::vector<double> sums(static_cast<size_t>(out.numel()));
  const int64_t inner = Product(formula, absl::string_view(order).substr(formula.out.size()));
  std::vector<int64_t> at(order.size()), place(operands.size());
  for (int64_t o = 0; o < out.numel(); ++o) {
    for (int64_t t = 0; t < inner; ++t) {
      double product = 1;
      for (size_t i = 0; i < operands.size(); ++i) product *= values[i][static_cast<size_t>(place[i])];
      sums[static_cast<size_t>(o)] += product;
      for (size_t d = order.size(); d-- > 0;) {  // the next point
        const bool carry = ++at[d] == formula.extent.at(order[d]);
        for (size_t i = 0; i < operands.size(); ++i) place[i] += carry ? steps[i][d] * (1 - at[d]) : steps[i][d];
        if (!carry) break;
        at[d] = 0;
      }
    }
  }
  StoreElems(out.dtype, out.data(), out.numel(), sums.data());
  return out;
}

}  // namespace

absl::StatusOr<Value> EinsumOp(HostCall& call) {
  if (!call.args[0].is(ValueKind::kString)) return UnimplementedAt(call.loc, call.name, ": lists of numbers instead of an equation are not supported");
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> given, call.evaluator.Iterate(call.args[1], call.loc));
  std::vector<Tensor> operands;
  for (const Value& value : given) {
    const HostTensor* tensor = AsTensor(value);
    if (tensor == nullptr) return call.Error("operand ", operands.size(), " is a ", specializer::TypeName(value, nullptr), ", wanted a tensor");
    operands.push_back(tensor->tensor);
    if (operands.back().dtype != operands.front().dtype)
      return call.Error("the operands have different dtypes, ", TorchName(operands.front().dtype), " and ", TorchName(operands.back().dtype));
  }
  if (operands.empty()) return call.Error("at least one operand is wanted");
  TILEVM_ASSIGN_OR_RETURN(Formula formula, Parse(call, call.args[0].string(), operands));
  absl::StatusOr<Tensor> out = IsMatrixProduct(formula) ? AsMatrixProduct(formula, operands) : AsLoop(call, formula, operands);
  if (!out.ok()) return WithLoc(out.status(), call.loc);
  return MakeTensorValue(*std::move(out));
}

}  // namespace tilevm::vm::host
