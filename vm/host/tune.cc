// Autotune on a device. The rules are Triton's where it has any (which configurations, which key); measuring is safer: every tensor that a trial could
// write is restored, so reset_to_zero and restore_value have nothing to do, and a configuration wins only outside the noise: among those whose medians
// lie within 1 % of the best, or within the spread of its own runs, the first in the source's order.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "isa/tbc.h"
#include "vm/host/device_runner.h"
#include "vm/host/launch.h"

namespace tilevm::vm::host {
namespace {

// All that the choice depends on: program, kernel, configurations, key values, GPU.
std::string TuningKey(Evaluator& evaluator, const isa::Function& function, const std::vector<Variant>& variants, const DeviceFacts& facts) {
  std::string text =
      absl::StrCat(isa::Identity(evaluator.module()).ToHex(), "\n", function.name, "\n", facts.name, " ", facts.arch, "\n", variants[0].tuning_key, "\n");
  for (const Variant& v : variants) absl::StrAppend(&text, v.config, "\n");
  return text;
}

// The place of a configuration; nullopt if there is none such any more.
std::optional<size_t> PlaceOf(const std::vector<Variant>& variants, absl::string_view config) {
  const auto it = std::find_if(variants.begin(), variants.end(), [&](const Variant& v) { return v.config == config; });
  return it == variants.end() ? std::nullopt : std::optional<size_t>(it - variants.begin());
}

// What this process chose for the key; what an earlier one on this machine did, or what the program's file says.
std::optional<size_t> ChosenHere(HostWorld& world, const std::string& key, const std::vector<Variant>& variants) {
  const auto it = world.chosen_configs().find(key);
  return it == world.chosen_configs().end() ? std::nullopt : PlaceOf(variants, it->second);
}
std::optional<size_t> ChosenBefore(HostWorld& world, const std::string& key, const std::vector<Variant>& variants) {
  const std::optional<std::string> remembered = world.options().device->Remembered(key);
  std::optional<size_t> place = remembered.has_value() ? PlaceOf(variants, *remembered) : std::nullopt;
  const auto stored = world.stored_configs().find(key);
  if (!place.has_value() && stored != world.stored_configs().end()) place = PlaceOf(variants, stored->second);
  return place;
}

}  // namespace

size_t RememberedConfig(HostWorld& world, Evaluator& evaluator, const Value& kernel, const std::vector<Variant>& variants) {
  if (variants.size() < 2 || world.options().device == nullptr) return 0;
  absl::StatusOr<const isa::Function*> function = evaluator.KernelFunction(kernel);
  if (!function.ok()) return 0;
  const std::string key = TuningKey(evaluator, **function, variants, world.options().device->facts());
  std::optional<size_t> place = ChosenHere(world, key, variants);
  if (!place.has_value()) place = ChosenBefore(world, key, variants);
  return place.value_or(0);
}

absl::StatusOr<size_t> ChooseConfig(HostWorld& world, Evaluator& evaluator, const Value& kernel, std::vector<Variant>& variants, const Value& grid, Loc loc) {
  DeviceRunner& device = *world.options().device;
  TILEVM_ASSIGN_OR_RETURN(const isa::Function* function, evaluator.KernelFunction(kernel));
  const std::string key = TuningKey(evaluator, *function, variants, device.facts());
  if (const std::optional<size_t> place = ChosenHere(world, key, variants)) return *place;
  TuneRecord record;
  record.kernel = function->name;
  record.key = variants[0].tuning_key;
  if (world.options().tuning != Tuning::kAlways) {
    if (const std::optional<size_t> place = ChosenBefore(world, key, variants)) {
      record.chosen = variants[*place].config;
      record.remembered = true;
      world.chosen_configs()[key] = record.chosen;
      world.Record(std::move(record));
      return *place;
    }
  }

  std::vector<TuneCandidate> candidates(variants.size());
  std::vector<std::shared_ptr<const CompiledKernel>> kernels(variants.size());
  std::vector<PreparedRun> runs(variants.size());
  for (size_t i = 0; i < variants.size(); ++i) {
    TuneCandidate& c = candidates[i];
    if (!variants[i].pre_hook.absent()) {
      TILEVM_RETURN_IF_ERROR(evaluator.Call(variants[i].pre_hook, CallArgs{{variants[i].hook_args}, {}}, loc).status());
    }
    TILEVM_ASSIGN_OR_RETURN(BoundCall bound, Bind(evaluator, kernel, variants[i].call, loc));
    TILEVM_ASSIGN_OR_RETURN(specializer::SpecializationKey specialization, SpecializationOf(kernel, bound, loc));
    absl::StatusOr<std::shared_ptr<const CompiledKernel>> compiled =
        world.cache().Get(world.program_key(), evaluator, kernel, specialization, nullptr, /*want_plan=*/false);
    if (!compiled.ok()) {
      // A program that is wrong is wrong in all of them.
      if (!DoesNotFit(compiled.status())) return WithCallSite(compiled.status(), loc);
      c.status = compiled.status();
      continue;
    }
    kernels[i] = *std::move(compiled);
    TILEVM_ASSIGN_OR_RETURN(runs[i], PrepareArguments(kernels[i]->kernel, bound, false, loc, /*on_device=*/true));
    TILEVM_ASSIGN_OR_RETURN(c.grid, EvaluateGrid(evaluator, grid, bound, loc));
    // Nothing to run is nothing to measure.
    if (c.grid[0] * c.grid[1] * c.grid[2] == 0) return size_t{0};
    c.kernel = kernels[i].get();
    c.run = &runs[i];
  }
  TILEVM_RETURN_IF_ERROR(device.Tune(candidates));

  size_t best = candidates.size();
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].status.ok() && (best == candidates.size() || candidates[i].microseconds < candidates[best].microseconds)) best = i;
  }
  if (best == candidates.size()) return WithCallSite(candidates[0].status, loc);
  const double noise = std::max(0.01 * candidates[best].microseconds, candidates[best].spread);
  for (size_t i = 0; i < best; ++i) {
    if (candidates[i].status.ok() && candidates[i].rounds == candidates[best].rounds && candidates[i].microseconds <= candidates[best].microseconds + noise) {
      best = i;
      break;
    }
  }
  record.chosen = variants[best].config;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const TuneCandidate& c = candidates[i];
    record.configs.push_back({variants[i].config, c.status.ok() ? "" : std::string(c.status.message()), c.microseconds, c.spread});
  }
  world.Record(std::move(record));
  world.chosen_configs()[key] = variants[best].config;
  device.Remember(key, variants[best].config);
  return best;
}

}  // namespace tilevm::vm::host
