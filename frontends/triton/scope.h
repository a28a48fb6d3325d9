// Which names a piece of source reads and assigns: what the lowering must know before it walks the code.
//
// A name assigned anywhere in a function is local to it (Python's rule). Comprehensions, lambdas and nested functions are scopes of their own;
// what they read and do not define themselves counts as read by what surrounds them.
#ifndef TILEVM_FRONTENDS_TRITON_SCOPE_H_
#define TILEVM_FRONTENDS_TRITON_SCOPE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "frontends/triton/ast.h"

namespace tilevm::triton {

// A set that keeps the order of first insertion.
class NameSet {
 public:
  bool Add(absl::string_view name) {
    if (!set_.insert(name).second) return false;
    order_.push_back(name);
    return true;
  }
  void AddAll(const NameSet& other) {
    for (absl::string_view name : other.order_) Add(name);
  }
  bool Has(absl::string_view name) const { return set_.contains(name); }
  bool empty() const { return order_.empty(); }
  const std::vector<absl::string_view>& names() const { return order_; }

 private:
  std::vector<absl::string_view> order_;
  absl::flat_hash_set<absl::string_view> set_;
};

// Names that running these statements or this expression may assign in the scope it stands in, in order of first assignment.
void CollectAssigned(const Block& block, NameSet* names);
void CollectAssigned(const Expr* expr, NameSet* names);
// Names of a target: `a, (b, *c)`; attributes and subscripts assign none.
void CollectTargets(const Expr* target, NameSet* names);

struct FunctionScope {
  NameSet locals;     // parameters, then assigned names
  NameSet globals;    // declared global
  NameSet nonlocals;  // declared nonlocal
  NameSet free;       // read here or in a scope inside, but not local
  bool is_generator = false;
};
FunctionScope ScopeOf(const FunctionDefStmt* function);
FunctionScope ScopeOf(const LambdaExpr* lambda);
// Of what a comprehension does for each item: all of it but its first iterable, which is evaluated where it stands.
FunctionScope LateScopeOf(const ComprehensionExpr* comp);

// Locals of a function that are kept in cells. Those that a nested function, lambda or generator expression must see change: assigned after it, or in a loop around it, or
// by it (`nonlocal`); all others it may take as they are where it stands. And those assigned inside `try` and `with`: what they are after an exception
// depends on how far the statements came.
NameSet SharedNames(const FunctionDefStmt* function, const FunctionScope& scope);

// Targets of a comprehension that a lambda or a generator expression inside it reads.
NameSet CapturedTargets(const ComprehensionExpr* comp);

// The lines on which a function reads a name.
struct ReadLines {
  int32_t first = 0;
  int32_t last = 0;
  int32_t last_outside_own_loop = 0;  // where no `for` over that same name encloses the read; 0: nowhere
};
using ReadMap = absl::flat_hash_map<absl::string_view, ReadLines>;
// Reads in these statements, functions inside them included.
void CollectReads(const Block& block, ReadMap* reads);

bool Mentions(const Expr* expr, absl::string_view name);

// What running a block does to a name first.
enum class FirstUse { kNone, kAssign, kMaybeRead };
FirstUse FirstUseOf(const Block& block, absl::string_view name);

// Control never comes out at the end: the block ends in return, raise, break or continue on every path.
bool AlwaysLeaves(const Block& block);
// The loop body holds a `break` that leaves this loop.
bool HasBreak(const Block& body);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_SCOPE_H_
