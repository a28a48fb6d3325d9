#include "vm/host/nearest.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

constexpr int kMostTries = 12;
constexpr int64_t kLeastTile = 16;  // of a product

bool NamesATile(absl::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  return absl::StrContains(upper, "BLOCK") || absl::StrContains(upper, "TILE") || upper == "B" || upper == "BM" || upper == "BN" || upper == "BK";
}

class Search {
 public:
  Search(Evaluator& evaluator, const Value& kernel, const Fits& fits, Loc loc) : evaluator_(evaluator), kernel_(kernel), fits_(fits), loc_(loc) {}

  std::string Run(const std::vector<Variant>& variants, size_t at) {
    const std::optional<BoundCall> bound = BoundOf(variants[at]);
    if (!bound.has_value() || !absl::IsResourceExhausted(Try(*bound))) return "";
    for (size_t i = 0; i < variants.size() && tries_ < kMostTries; ++i) {
      const std::optional<BoundCall> other = i == at ? std::nullopt : BoundOf(variants[i]);
      if (other.has_value() && Try(*other).ok()) return absl::StrCat("its configuration ", variants[i].config, " fits");
    }
    FindTiles(*bound, variants[at]);
    for (int halvings = 1; halvings <= most_halvings_ && tries_ < kMostTries; ++halvings) {
      BoundCall smaller = *bound;
      if (const std::string found = Halve(smaller, 0, halvings); !found.empty()) return absl::StrCat(found, " fits");
    }
    return "";
  }

 private:
  struct Tile {
    size_t param = 0;
    int64_t extent = 0;
  };

  std::optional<BoundCall> BoundOf(const Variant& variant) {
    absl::StatusOr<BoundCall> bound = Bind(evaluator_, kernel_, variant.call, loc_);
    return bound.ok() ? std::optional<BoundCall>(*std::move(bound)) : std::nullopt;
  }

  absl::Status Try(const BoundCall& bound) {
    ++tries_;
    TILEVM_ASSIGN_OR_RETURN(const specializer::SpecializationKey key, SpecializationOf(kernel_, bound, loc_));
    TILEVM_ASSIGN_OR_RETURN(const ir::Kernel kernel, SpecializeAndOptimize(evaluator_, kernel_, key));
    return fits_(kernel);
  }

  bool IsSet(const Variant& variant, const std::string& name) {
    if (variant.chosen.absent()) return false;
    const absl::StatusOr<Value> kwargs = evaluator_.GetAttr(variant.chosen, "kwargs", loc_);
    return kwargs.ok() && kwargs->is(ValueKind::kDict) && specializer::DictFind(*kwargs->As<specializer::DictPayload>(), Value::String(name)) != nullptr;
  }

  void FindTiles(const BoundCall& bound, const Variant& variant) {
    for (size_t i = 0; i < bound.args.size(); ++i) {
      const isa::Param& param = bound.function->params[i];
      if (!param.is_constexpr || !bound.args[i].is(ValueKind::kInt) || !(NamesATile(param.name) || IsSet(variant, param.name))) continue;
      const absl::int128 wide = bound.args[i].int_value();
      if (wide < 2 * kLeastTile || wide > (int64_t{1} << 30)) continue;
      const int64_t extent = static_cast<int64_t>(wide);
      if ((extent & (extent - 1)) != 0) continue;
      tiles_.push_back({i, extent});
      for (int64_t rest = extent; rest >= 2 * kLeastTile; rest /= 2) ++most_halvings_;
    }
  }

  // Shares out so many halvings among the tiles from `from` on.
  std::string Halve(BoundCall& bound, size_t from, int halvings) {
    if (halvings == 0) return Try(bound).ok() ? Names(bound) : "";
    if (from == tiles_.size()) return "";
    const Tile& tile = tiles_[from];
    for (int here = halvings; here >= 0 && tries_ < kMostTries; --here) {
      if ((tile.extent >> here) < kLeastTile || (from + 1 == tiles_.size() && here < halvings)) continue;
      bound.args[tile.param] = Value::Int(tile.extent >> here);
      if (std::string found = Halve(bound, from + 1, halvings - here); !found.empty()) return found;
    }
    bound.args[tile.param] = Value::Int(tile.extent);
    return "";
  }

  std::string Names(const BoundCall& bound) const {
    return absl::StrJoin(tiles_, ", ", [&](std::string* out, const Tile& tile) {
      absl::StrAppend(out, bound.function->params[tile.param].name, "=", static_cast<int64_t>(bound.args[tile.param].int_value()));
    });
  }

  Evaluator& evaluator_;
  const Value& kernel_;
  const Fits& fits_;
  const Loc loc_;
  int tries_ = 0, most_halvings_ = 0;
  std::vector<Tile> tiles_;
};

}  // namespace

std::string NearestThatFits(Evaluator& evaluator, const Value& kernel, const std::vector<Variant>& variants, size_t at, const Fits& fits, Loc loc) {
  return Search(evaluator, kernel, fits, loc).Run(variants, at);
}

absl::Status WithNearest(absl::Status status, Evaluator& evaluator, const Value& kernel, const std::vector<Variant>& variants, size_t at, const Fits& fits, Loc loc) {
  if (!absl::IsResourceExhausted(status)) return status;
  const std::string nearest = NearestThatFits(evaluator, kernel, variants, at, fits, loc);
  if (nearest.empty()) return status;
  absl::Status out(status.code(), absl::StrCat(status.message(), "; ", nearest));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { out.SetPayload(url, payload); });
  return out;
}

}  // namespace tilevm::vm::host
