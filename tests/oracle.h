// Fills in what case files leave to numpy: one run of tests/oracle.py for all cases of a test program.
#ifndef TILEVM_TESTS_ORACLE_H_
#define TILEVM_TESTS_ORACLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/case_file.h"

namespace tilevm::tests {

// Evaluates every before_expr and after_expr. `script` is the path of oracle.py, `folder` where the two files of the exchange may stand. A
// case whose expression fails gets its text in problems, one entry for each case ("" if all went well).
absl::Status AskOracle(absl::string_view script, absl::string_view folder, std::vector<Case>& cases, std::vector<std::string>& problems);

// The same from the answers of an earlier run (the file oracle.answer of its folder), where there is no numpy. kInternal if they are for other cases.
absl::Status ReadOracle(absl::string_view answers, std::vector<Case>& cases, std::vector<std::string>& problems);

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_ORACLE_H_
