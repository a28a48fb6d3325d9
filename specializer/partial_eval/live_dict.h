// obj.__dict__ of an instance or a function: a dict that remembers its owner, so that what is done to it is done to the owner's attributes.
// The owner is kept where a defaultdict keeps its factory; a plain dict with one is such a dict.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_LIVE_DICT_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_LIVE_DICT_H_

#include "specializer/partial_eval/value.h"

namespace tilevm::specializer {

Value AttributeDict(const Value& owner);     // owner.__dict__
bool IsAttributeDict(const Value& dict);
void RefreshAttributes(const Value& dict);   // before a look or a change: what the owner has now. Nothing for another dict
void StoreAttributes(const Value& dict);     // after a change
void DetachAttributes(const Value& dict);    // a copy is a dict of its own

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_LIVE_DICT_H_
