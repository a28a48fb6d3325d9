// What `tilevm run` says at its end, as text or as JSON.
#ifndef TILEVM_VM_CLI_RUN_REPORT_H_
#define TILEVM_VM_CLI_RUN_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "vm/host/host.h"

namespace tilevm::vm::cli {

struct RunReport {
  std::string file;
  std::string what;                 // "ran as __main__"
  std::string error;                // formatted; "" if all went well
  std::string hint;                 // what the file has to run, if it launched nothing
  double load_us = 0;
  std::vector<std::string> printed;  // --json: lines of print()
  std::vector<std::pair<std::string, specializer::Value>> values;  // results, or tensors of a kernel after its run
  const host::HostWorld* world = nullptr;
};

// tuning: with the table of what autotuning measured.
void PrintText(const RunReport& report, bool check, bool stats, bool tuning = false);
void PrintJson(const RunReport& report);

}  // namespace tilevm::vm::cli

#endif  // TILEVM_VM_CLI_RUN_REPORT_H_
