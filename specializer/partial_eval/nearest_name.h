// "did you mean": the name among those offered that differs least from a misspelt one.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_NEAREST_NAME_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_NEAREST_NAME_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tilevm::specializer {

class NearestName {
 public:
  explicit NearestName(absl::string_view wanted) : wanted_(wanted), best_(wanted.size() / 3 + 1) {}

  // Of several at the same distance the first in order of the alphabet, whatever the order of the offers.
  void Offer(absl::string_view name) {
    const size_t distance = Distance(name);
    if (distance > best_ || (distance == best_ && !name_.empty() && name_ <= name)) return;
    best_ = distance;
    name_ = std::string(name);
  }
  const std::string& name() const { return name_; }  // empty: none is near

 private:
  // Letters to put in, take out, replace, or swap with their neighbour.
  size_t Distance(absl::string_view name) const {
    if (name.size() > wanted_.size() + best_ || wanted_.size() > name.size() + best_) return best_ + 1;
    std::vector<size_t> before(name.size() + 1), last(name.size() + 1), row(name.size() + 1);
    for (size_t j = 0; j <= name.size(); ++j) last[j] = j;
    for (size_t i = 1; i <= wanted_.size(); ++i) {
      row[0] = i;
      for (size_t j = 1; j <= name.size(); ++j) {
        row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (wanted_[i - 1] == name[j - 1] ? 0 : 1)});
        if (i > 1 && j > 1 && wanted_[i - 1] == name[j - 2] && wanted_[i - 2] == name[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
      }
      before.swap(last);
      last.swap(row);
    }
    return last[name.size()];
  }

  const std::string wanted_;
  size_t best_;
  std::string name_;
};

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_NEAREST_NAME_H_
