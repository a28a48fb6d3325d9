// Writes cubins of kernels in Triton files, with what a launcher has to know of each: compare.py loads them beside Triton's own.
//
//   cubins [--arch=sm_90a] [--multiprocessors=N] [--parts=N] [--repeat=N] [--text] [--no-made-maps] [--cache=FOLDER] SPEC.json FOLDER
//
// SPEC.json is a list of {"name", "file", "kernel", "num_warps", "num_stages", "grid", "args"}; args stand for the parameters in order:
//   {"pointer": "f16", "aligned": true}   {"int": 4096}   {"float": 0.5}   {"const": 128} (or true, "text", null)   {"dtype": "f16"}
// An int of 1 is specialized away and divisibility by 16 is promised where it holds, as Triton does. FOLDER gets NAME.cubin (and NAME.cu with --text; NAME.slow.cu:
// of a variant that spills, or whose products the assembler lets wait) and manifest.json: {"name": {"entry", "cubin", "threads", "smem", "params": [index of the argument], "maps",
// "persistent", "registers", "spill", "ms"}}; a kernel that could not be built has "error" alone. "maps" are the fields of its tensor maps for these arguments:
// {"param": place in params (null: of none), "offset": bytes from there, "dtype", "extents", "strides", "box", "swizzle"}, numbers as cuTensorMapEncodeTiled takes them. With
// --repeat each is compiled N times without NVRTC's cache and "ms" holds the medians (nvrtc_cpu is processor time, which other programs do not stretch). With
// --cache a text that was compiled before is not compiled again. --parts=N: every program in N parts, of -N
// those of the last wave, to see what the choice costs.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "frontends/triton/compile.h"
#include "gpu/compile/fallback.h"
#include "gpu/compile/generate.h"
#include "gpu/device/headers.h"
#include "gpu/launch/arguments.h"
#include "gpu/nvrtc/nvrtc.h"
#include "isa/status.h"
#include "nlohmann/json.hpp"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/passes/passes.h"

namespace tilevm::gpu {
namespace {

using nlohmann::json;
using specializer::ArgSpec;
using specializer::Value;

struct Settings {
  std::string arch = "sm_90a", folder;
  int repeat = 1;
  int multiprocessors = 132;  // small grids are split for so many
  int parts = 0;              // 0: as the launcher would choose
  std::string cache;          // a folder; none if empty
  bool text = false;
  bool made_maps = true;      // gpu/compile/generate.h: Promises::made
};

absl::StatusOr<ArgSpec> SpecOf(const json& arg) {
  ArgSpec spec;
  const json constant = arg.contains("const") ? arg["const"] : json();
  if (arg.contains("pointer") || arg.contains("dtype")) {
    const std::string name = arg.contains("pointer") ? arg["pointer"] : arg["dtype"];
    const std::optional<isa::DType> dtype = isa::DTypeFromName(name);
    if (!dtype) return absl::InvalidArgumentError(absl::StrCat("no dtype ", name));
    if (arg.contains("dtype")) {
      spec.value = Value::DTypeOf(*dtype);
    } else {
      spec.kind = ArgSpec::Kind::kTyped;
      spec.type = isa::PointerType(*dtype);
      spec.divisible_by_16 = arg.value("aligned", true);
    }
  } else if (arg.contains("int") && arg["int"] != 1) {
    const int64_t value = arg["int"];
    spec.kind = ArgSpec::Kind::kTyped;
    spec.type = isa::ScalarType(value == static_cast<int32_t>(value) ? isa::DType::kI32 : isa::DType::kI64);
    spec.divisible_by_16 = value % 16 == 0;
  } else if (arg.contains("float")) {
    spec.kind = ArgSpec::Kind::kTyped;
    spec.type = isa::ScalarType(isa::DType::kF32);
  } else if (constant.is_boolean()) {
    spec.value = Value::Bool(constant);
  } else if (constant.is_string()) {
    spec.value = Value::String(constant);
  } else if (constant.is_number_float()) {
    spec.value = Value::Float(constant);
  } else if (constant.is_number()) {
    spec.value = Value::Int(constant.get<int64_t>());
  } else if (arg.contains("int")) {
    spec.value = Value::Int(1);
  } else {
    spec.value = Value::None();
  }
  return spec;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Made-up addresses, so that a tensor map tells which pointer it begins at.
constexpr int kAddressBits = 40;

std::vector<uint64_t> ValuesOf(const ir::Kernel& kernel, const json& args) {
  std::vector<uint64_t> values;
  for (const ir::Param& param : kernel.params) {
    const json& arg = args.at(static_cast<size_t>(param.source_index));
    if (arg.contains("int")) values.push_back(static_cast<uint64_t>(arg["int"].get<int64_t>()));
    else values.push_back(((values.size() + 1) << kAddressBits) + (arg.value("aligned", true) ? 0 : 2));
  }
  return values;
}

json MapsOf(const std::vector<launch::MapFields>& maps, const std::vector<uint64_t>& values) {
  json out = json::array();
  for (const launch::MapFields& map : maps) {
    if (map.made) {  // of no array
      out.push_back({{"param", nullptr}, {"offset", map.address}, {"dtype", MapType(map.dtype)}, {"extents", map.extents}, {"strides", map.strides}, {"box", map.box},
                     {"swizzle", MapSwizzle(map.swizzle)}});
      continue;
    }
    const size_t param = static_cast<size_t>((map.address + (uint64_t{1} << (kAddressBits - 1))) >> kAddressBits) - 1;
    out.push_back({{"param", param}, {"offset", static_cast<int64_t>(map.address - values.at(param))}, {"dtype", MapType(map.dtype)}, {"extents", map.extents},
                   {"strides", map.strides}, {"box", map.box}, {"swizzle", MapSwizzle(map.swizzle)}});
    // To be copied first by repack.cubin: rows of so many bytes.
    if (map.repack) out.back()["packed"] = {{"row_bytes", map.extents[0] * static_cast<uint64_t>(isa::StorageBytes(map.dtype))}, {"stride", map.packed_stride()},
                                               {"turned_bytes", map.turned ? isa::StorageBytes(map.dtype) : 0}};
  }
  return out;
}

// As Nvrtc::Compile; of a result in the cache only what ReadLog finds and the cubin are known.
absl::StatusOr<CompileResult> Compile(const Nvrtc& nvrtc, const Settings& settings, const CompileRequest& request) {
  if (settings.cache.empty()) return nvrtc.Compile(request);
  const std::string path = absl::StrCat(settings.cache, "/", absl::Hex(std::hash<std::string>()(request.source), absl::kZeroPad16), ".", settings.arch);
  std::stringstream bytes;
  if (std::ifstream file(path, std::ios::binary); file && bytes << file.rdbuf()) {
    CompileResult known;
    const std::string text = bytes.str();
    known.log = text.substr(0, text.find('\0'));
    known.cubin = text.substr(known.log.size() + 1);
    ReadLog(known);
    return known;
  }
  TILEVM_ASSIGN_OR_RETURN(CompileResult result, nvrtc.Compile(request));
  const std::string temporary = absl::StrCat(path, ".", getpid());
  std::ofstream(temporary, std::ios::binary) << result.log.substr(0, result.log.find('\0')) << '\0' << result.cubin;
  std::rename(temporary.c_str(), path.c_str());
  return result;
}

absl::StatusOr<json> Build(const Nvrtc& nvrtc, const Settings& settings, const json& item) {
  const std::string path = item.at("file"), name = item.at("name");
  TILEVM_ASSIGN_OR_RETURN(std::string source, triton::LoadFromDisk(path));
  TILEVM_ASSIGN_OR_RETURN(isa::Module module, triton::CompileTriton(source, path.substr(path.rfind('/') + 1)));
  TILEVM_ASSIGN_OR_RETURN(const Target target, TargetOf(settings.arch));
  specializer::SpecializationKey key;
  for (const json& arg : item.at("args")) {
    TILEVM_ASSIGN_OR_RETURN(ArgSpec spec, SpecOf(arg));
    key.args.push_back(std::move(spec));
  }
  key.options.num_warps = item.value("num_warps", 4);
  key.options.num_stages = item.value("num_stages", 3);

  std::vector<double> front, emit, compile, cpu;
  json out;
  for (int i = 0; i < settings.repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    auto lap = [&] {
      const auto now = std::chrono::steady_clock::now();
      const double ms = std::chrono::duration<double, std::milli>(now - start).count();
      start = now;
      return ms;
    };
    specializer::Evaluator evaluator(&module, nullptr);
    TILEVM_ASSIGN_OR_RETURN(Value function, evaluator.Global(item.at("kernel").get<std::string>()));
    TILEVM_ASSIGN_OR_RETURN(ir::Kernel typed, evaluator.Specialize(function, key));
    TILEVM_ASSIGN_OR_RETURN(ir::Kernel kernel, specializer::RunPasses(std::move(typed)));
    front.push_back(lap());
    const std::vector<uint64_t> values = ValuesOf(kernel, item.at("args"));
    std::array<int64_t, 3> grid = {1, 1, 1};
    for (size_t axis = 0; axis < item.at("grid").size(); ++axis) grid.at(axis) = item["grid"][axis];
    double compile_ms = 0, cpu_ms = 0, emit_ms = 0;
    using Made = std::pair<Emitted, CompileResult>;
    auto to_cubin = [&](Emitted text) -> absl::StatusOr<Made> {
      CompileRequest request;
      request.source = text.text;
      request.headers = DeviceHeaderTexts();
      request.arch = settings.arch;
      request.own_cache = false;
      emit_ms += lap();
      const std::clock_t ticks = std::clock();
      TILEVM_ASSIGN_OR_RETURN(CompileResult result, Compile(nvrtc, settings, request));
      compile_ms += lap();
      cpu_ms += 1e3 * static_cast<double>(std::clock() - ticks) / CLOCKS_PER_SEC;
      // Products that the assembler does one after the other, and registers that setmaxnreg cannot move.
      if (i == 0 && absl::StrContains(result.log, "(C75")) std::printf("%s\n", result.log.c_str());
      if (i == 0 && settings.text && (result.spill_bytes != 0 || absl::StrContains(result.log, "(C75"))) std::ofstream(absl::StrCat(settings.folder, "/", name, ".slow.cu")) << text.text;
      return Made(std::move(text), std::move(result));
    };
    auto generate = [&](GenerateOptions options) {
      if (settings.parts != 0) options.promises.parts = std::abs(settings.parts);
      options.promises.tail = settings.parts < 0;
      return GenerateFor(kernel, target, options, values, grid, true, settings.parts != 0 ? 0 : settings.multiprocessors);
    };
    GenerateOptions first;
    first.promises.made = settings.made_maps;
    TILEVM_ASSIGN_OR_RETURN(Made made, (BestVariant<Made>(first, generate, to_cubin, [](const Made& m) { return BadnessOf(m.second.spill_bytes, m.second.serialised); })));
    const auto& [emitted, compiled] = made;
    compile.push_back(compile_ms);
    emit.push_back(emit_ms);
    cpu.push_back(cpu_ms);
    if (settings.text) std::ofstream(absl::StrCat(settings.folder, "/", name, ".cu")) << emitted.text;
    std::ofstream(absl::StrCat(settings.folder, "/", name, ".cubin"), std::ios::binary) << compiled.cubin;
    out = {{"entry", emitted.entry}, {"cubin", name + ".cubin"}, {"threads", emitted.threads}, {"smem", emitted.smem_bytes}, {"registers", compiled.registers},
           {"spill", compiled.spill_bytes}, {"persistent", emitted.persistent}, {"parts", emitted.parts}, {"tail", emitted.tail},
           {"programs", emitted.programs}, {"dealt", emitted.dealt}, {"strided", emitted.strided}, {"packed", emitted.packed}, {"begins_early", emitted.begins_early}};
    out["maps"] = MapsOf(EvaluateSlice(emitted, kernel, values, grid, RangesOf(kernel, values, grid)).maps, values);
    out["params"] = json::array();
    for (const ir::Param& param : kernel.params) out["params"].push_back(param.source_index);
  }
  out["ms"] = {{"specialize", Median(front)}, {"emit", Median(emit)}, {"nvrtc", Median(compile)}, {"nvrtc_cpu", Median(cpu)}};
  return out;
}

int Main(const Settings& settings, const std::string& spec_path) {
  auto nvrtc = Nvrtc::Load();
  if (!nvrtc.ok()) {
    std::fprintf(stderr, "%s\n", std::string(nvrtc.status().message()).c_str());
    return 77;
  }
  std::ifstream file(spec_path);
  const json spec = json::parse(file, nullptr, false);
  if (!spec.is_array()) {
    std::fprintf(stderr, "%s is no list in JSON\n", spec_path.c_str());
    return 2;
  }
  // The first compilation of a process sets up the library.
  CompileRequest warm;
  warm.source = "extern \"C\" __global__ void warm() {}";
  warm.arch = settings.arch;
  if (settings.cache.empty()) (void)(*nvrtc)->Compile(warm);
  CompileRequest repack;
  repack.source = RepackText().text;
  repack.headers = DeviceHeaderTexts();
  repack.arch = settings.arch;
  if (auto compiled = Compile(**nvrtc, settings, repack); compiled.ok()) std::ofstream(settings.folder + "/repack.cubin", std::ios::binary) << compiled->cubin;
  else std::printf("repack: %s\n", std::string(compiled.status().message()).c_str());
  json manifest;
  for (const json& item : spec) {
    const std::string name = item.at("name");
    absl::StatusOr<json> built = Build(**nvrtc, settings, item);
    if (built.ok()) {
      manifest[name] = *built;
      std::printf("%-24s NVRTC %7.1f ms (processor %7.1f), emit %5.2f ms, specialize %5.2f ms, %3d registers, %4d spilled, %6d bytes shared\n", name.c_str(),
                  (*built)["ms"]["nvrtc"].get<double>(), (*built)["ms"]["nvrtc_cpu"].get<double>(), (*built)["ms"]["emit"].get<double>(), (*built)["ms"]["specialize"].get<double>(),
                  (*built)["registers"].get<int>(), (*built)["spill"].get<int>(), (*built)["smem"].get<int>());
    } else {
      manifest[name] = {{"error", std::string(built.status().message()).substr(0, 2000)}};
      std::printf("%-40s failed: %s\n", name.c_str(), std::string(built.status().message()).substr(0, 2000).c_str());
    }
    std::fflush(stdout);
  }
  std::ofstream(settings.folder + "/manifest.json") << manifest.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace tilevm::gpu

int main(int argc, char** argv) {
  tilevm::gpu::Settings settings;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--arch=")) {
      settings.arch = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--repeat=")) {
      if (!absl::SimpleAtoi(arg, &settings.repeat) || settings.repeat < 1) settings.repeat = 1;
    } else if (absl::ConsumePrefix(&arg, "--multiprocessors=")) {
      if (!absl::SimpleAtoi(arg, &settings.multiprocessors)) settings.multiprocessors = 0;
    } else if (absl::ConsumePrefix(&arg, "--parts=")) {
      if (!absl::SimpleAtoi(arg, &settings.parts)) settings.parts = 0;
    } else if (absl::ConsumePrefix(&arg, "--cache=")) {
      settings.cache = std::string(arg);
    } else if (arg == "--no-made-maps") {
      settings.made_maps = false;
    } else if (arg == "--text") {
      settings.text = true;
    } else {
      names.push_back(std::string(arg));
    }
  }
  if (names.size() != 2) {
    std::fprintf(stderr, "cubins [--arch=sm_90a] [--multiprocessors=N] [--parts=N] [--repeat=N] [--text] [--no-made-maps] [--cache=FOLDER] SPEC.json FOLDER\n");
    return 2;
  }
  settings.folder = names[1];
  return tilevm::gpu::Main(settings, names[0]);
}
