// Holds every stage of tilevm to the one expectation of a case: text and bytecode round trips, then the interpreter on the typed IR after each
// pass, in checked mode and in fast mode with one thread and with two.
#ifndef TILEVM_TESTS_CHECK_CASE_H_
#define TILEVM_TESTS_CHECK_CASE_H_

#include <string>

#include "tests/case_file.h"

namespace tilevm::tests {

// "" if the case holds, else what does not, ready to be shown.
std::string CheckCase(const Case& one);

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_CHECK_CASE_H_
