#include "vm/cli/run_report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "vm/cli/values.h"
#include "vm/host/device_runner.h"

namespace tilevm::vm::cli {
namespace {

// "3 launches of add_kernel, 1 launch of softmax_kernel"
std::string LaunchesText(const host::HostWorld& world) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const host::LaunchRecord& r : world.launches()) {
    auto it = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == r.kernel; });
    if (it == counts.end()) it = counts.insert(counts.end(), {r.kernel, 0});
    ++it->second;
  }
  if (counts.empty()) return "no kernel was launched";
  std::vector<std::string> parts;
  for (const auto& [kernel, count] : counts) parts.push_back(absl::StrCat(count, count == 1 ? " launch of " : " launches of ", kernel));
  const host::HostWorld::Options& options = world.options();
  int64_t on_device = 0;
  for (const host::LaunchRecord& r : world.launches()) on_device += r.on_device;
  const char* where = on_device == 0 ? "cpu" : on_device == static_cast<int64_t>(world.launches().size()) ? "" : " and cpu";
  return absl::StrCat(absl::StrJoin(parts, ", "), " on ", on_device > 0 ? options.device->facts().name : "", where);
}

std::string ChecksText(const host::HostWorld& world) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : world.checks()) parts.push_back(absl::StrCat(count, " ", name));
  return absl::StrJoin(parts, ", ");
}

void PrintStats(const RunReport& report) {
  std::fprintf(stderr, "load %.0f us\n", report.load_us);
  for (const host::LaunchRecord& r : report.world->launches()) {
    std::string line =
        absl::StrFormat("%s: %d programs, compile %.0f us, run %.0f us%s", r.kernel, r.programs, r.compile_us, r.run_us, r.on_device ? " on the GPU" : "");
    if (r.run_us > 0) absl::StrAppendFormat(&line, ", %.2f GB/s of argument bytes", static_cast<double>(r.bytes) / r.run_us * 1e-3);
    if (!r.config.empty()) absl::StrAppend(&line, ", config ", r.config);
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

// "matmul_kernel, M=512 N=512 | a:f16: 8 configurations" and a line for each, the fastest first.
void PrintTuning(const host::HostWorld& world) {
  for (const host::TuneRecord& record : world.tuned()) {
    std::printf("%s, %s: ", record.kernel.c_str(), record.key.c_str());
    if (record.remembered) {
      std::printf("%s, as an earlier run found\n", record.chosen.c_str());
      continue;
    }
    std::printf("%zu configurations\n", record.configs.size());
    std::vector<const host::TuneRecord::Config*> order;
    for (const host::TuneRecord::Config& c : record.configs) order.push_back(&c);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->refused.empty() != b->refused.empty() ? a->refused.empty() : a->microseconds < b->microseconds;
    });
    for (const host::TuneRecord::Config* c : order) {
      if (c->refused.empty()) {
        std::printf("%s %10.2f us  %s\n", c->config == record.chosen ? "*" : " ", c->microseconds, c->config.c_str());
      } else {
        std::printf("     left out  %s: %s\n", c->config.c_str(), c->refused.c_str());
      }
    }
  }
}

}  // namespace

void PrintText(const RunReport& report, bool check, bool stats, bool tuning) {
  std::fflush(stdout);
  if (report.world != nullptr) {
    for (const std::string& text : report.world->notes()) std::fprintf(stderr, "%s", text.c_str());
    for (const std::string& text : report.world->reports()) std::fprintf(stderr, "%s", text.c_str());
    if (report.world->reports_dropped() > 0) std::fprintf(stderr, "%lld more reports are not shown\n", static_cast<long long>(report.world->reports_dropped()));
    if (stats) PrintStats(report);
  }
  if (!report.error.empty()) {
    std::fprintf(stderr, "%s", report.error.c_str());
    return;
  }
  if (tuning) PrintTuning(*report.world);
  for (const auto& [name, value] : report.values) std::printf("%s = %s\n", name.c_str(), Summarise(value).c_str());
  const host::HostWorld& world = *report.world;
  const std::string base = report.file.substr(report.file.rfind('/') == std::string::npos ? 0 : report.file.rfind('/') + 1);
  std::string line = absl::StrCat(base, ": ", report.what, ": ", LaunchesText(world));
  if (!world.checks().empty()) absl::StrAppend(&line, "; all checks of the file passed (", ChecksText(world), ")");
  if (check) {
    const size_t n = world.reports().size();
    absl::StrAppend(&line, n == 0 ? "; --check found nothing" : absl::StrCat("; --check found ", n, n == 1 ? " fault" : " faults"));
  }
  std::printf("%s%s%s\n", line.c_str(), report.hint.empty() ? "" : "; the file has", report.hint.c_str());
}

void PrintJson(const RunReport& report) {
  using nlohmann::ordered_json;
  ordered_json out;
  out["file"] = report.file;
  out["ok"] = report.error.empty() && (report.world == nullptr || report.world->reports().empty());  // a check that found something is none
  if (!report.error.empty()) out["error"] = report.error;
  out["load_us"] = report.load_us;
  out["output"] = report.printed;
  ordered_json values = ordered_json::object();
  for (const auto& [name, value] : report.values) {
    if (const host::HostTensor* t = host::AsTensor(value)) {
      values[name] = {{"dtype", std::string(isa::Name(t->tensor.dtype))},
                      {"shape", std::vector<int64_t>(t->tensor.shape.begin(), t->tensor.shape.end())},
                      {"summary", Summarise(value)}};
    } else {
      values[name] = specializer::Repr(value);
    }
  }
  out["values"] = values;
  ordered_json launches = ordered_json::array();
  if (report.world != nullptr) {
    for (const host::LaunchRecord& r : report.world->launches()) {
      ordered_json launch = {{"kernel", r.kernel},
                             {"device", r.on_device ? "cuda" : "cpu"},
                             {"programs", r.programs},
                             {"compile_us", r.compile_us},
                             {"run_us", r.run_us},
                             {"bytes", r.bytes},
                             {"ops", r.ops}};
      if (!r.config.empty()) launch["config"] = r.config;
      launches.push_back(launch);
    }
    out["checks"] = report.world->checks();
    out["reports"] = report.world->reports();
    out["notes"] = report.world->notes();
  }
  out["launches"] = launches;
  ordered_json tuned = ordered_json::array();
  if (report.world != nullptr) {
    for (const host::TuneRecord& r : report.world->tuned()) {
      ordered_json configs = ordered_json::array();
      for (const host::TuneRecord::Config& c : r.configs) {
        ordered_json entry = {{"config", c.config}};
        if (c.refused.empty()) {
          entry["microseconds"] = c.microseconds;
          entry["spread"] = c.spread;
        } else {
          entry["left_out"] = c.refused;
        }
        configs.push_back(std::move(entry));
      }
      tuned.push_back({{"kernel", r.kernel}, {"key", r.key}, {"chosen", r.chosen}, {"remembered", r.remembered}, {"configs", configs}});
    }
  }
  if (!tuned.empty()) out["tuned"] = tuned;
  // Text of a program may hold any bytes.
  std::printf("%s\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

}  // namespace tilevm::vm::cli
