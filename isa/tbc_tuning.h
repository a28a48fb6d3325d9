// Results of tuning in a .tbc: section 16. They say which configuration of an autotuned kernel was the fastest, by what the choice depends on (vm/host/tune.cc
// makes the text of a key: program, kernel, GPU, key values, configurations). They have no meaning for the program and do not change its identity.
#ifndef TILEVM_ISA_TBC_TUNING_H_
#define TILEVM_ISA_TBC_TUNING_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tilevm::isa {

using TuningResults = std::map<std::string, std::string>;  // configuration by key

// The file with these results beside the ones it has; of one key the new one stays. kDataLoss as ReadTbc.
absl::StatusOr<std::string> AddTuning(absl::string_view tbc, const TuningResults& results);
// None if the file has no such section.
absl::StatusOr<TuningResults> ReadTuning(absl::string_view tbc);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_TBC_TUNING_H_
