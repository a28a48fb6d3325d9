#include "gpu/compile/kept_text.h"

#include <sodium.h>

#include <cstring>
#include <utility>
#include <variant>

#include "gpu/compile/entry_bytes.h"
#include "isa/tbc_bytes.h"

namespace tilevm::gpu {
namespace {

using gpu::Put;
using isa::ByteWriter;

void Put(ByteWriter& out, const ir::Attr& attr) {
  out.U8(static_cast<uint8_t>(attr.index()));
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) {
          out.U8(value);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          Put(out, value);
        } else if constexpr (std::is_same_v<T, double>) {
          uint64_t bits;
          std::memcpy(&bits, &value, sizeof(bits));
          out.Fixed(bits, 8);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out.Text(value);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          out.Varint(value.size());
          for (int64_t one : value) Put(out, one);
        } else if constexpr (std::is_same_v<T, isa::DType>) {
          out.U8(static_cast<uint8_t>(value));
        }
      },
      attr);
}

void Put(ByteWriter& out, const ir::Region& region) {
  out.Varint(region.args.size());
  for (ir::ValueId arg : region.args) out.Fixed(arg, 4);
  out.Varint(region.ops.size());
  for (const ir::Op& op : region.ops) {
    out.Fixed(static_cast<uint64_t>(op.op), 2);
    out.Varint(op.operands.size());
    for (ir::ValueId operand : op.operands) out.Fixed(operand, 4);
    out.Varint(op.results.size());
    for (ir::ValueId result : op.results) out.Fixed(result, 4);
    out.Varint(op.attrs.size());
    for (const ir::NamedAttr& attr : op.attrs) {
      out.Text(attr.name);
      Put(out, attr.value);
    }
    out.Varint(op.regions.size());
    for (const ir::Region& inner : op.regions) Put(out, inner);
    Put(out, op.loc);
  }
}

void Put(ByteWriter& out, const ir::Kernel& kernel) {
  out.Text(kernel.name);
  out.Varint(kernel.params.size());
  for (const ir::Param& param : kernel.params) {
    out.Fixed(param.value, 4);
    out.Text(param.name);
    Put(out, param.source_index);
    Put(out, param.divisibility);
    Put(out, param.loc);
  }
  out.Varint(kernel.values.size());
  for (const ir::ValueInfo& value : kernel.values) {
    Put(out, value.type);
    out.Text(value.name);
  }
  Put(out, kernel.body);
  const ir::Options& o = kernel.options;
  static_assert(sizeof(ir::Options) == 4 * sizeof(int) + 4, "a new option belongs into the key");
  for (int number : {o.num_warps, o.num_stages, o.num_ctas, o.maxnreg}) Put(out, number);
  for (bool flag : {o.debug, o.fast_math}) out.U8(flag);
  Put(out, kernel.loc);
}

void Put(ByteWriter& out, const GenerateOptions& options) {
  const Promises& p = options.promises;
  static_assert(sizeof(Promises) == 16 && sizeof(GenerateOptions) == sizeof(Promises) + 12, "a new option belongs into the key");
  Put(out, p.parts);
  Put(out, options.merged);
  for (bool flag : {p.no_alias, p.trust_signs, p.loops_run, p.tail, p.many, p.boxes, p.turn, p.box_stores, p.workspace, p.made, options.line_directives, options.overlap,
                    options.wgmma, options.threads, options.few_programs}) {
    out.U8(flag);
  }
}

}  // namespace

CacheKey TextKey(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options, absl::string_view version) {
  ByteWriter out;
  out.Text("tilevm text 1");
  out.Text(version);
  out.Text(target.arch);
  Put(out, target.number);
  Put(out, target.max_smem_per_block);
  Put(out, target.max_registers_per_thread);
  Put(out, target.max_threads_per_block);
  Put(out, options);
  Put(out, kernel);
  CacheKey key;
  crypto_hash_sha256(key.data(), reinterpret_cast<const unsigned char*>(out.bytes().data()), out.size());
  return key;
}

}  // namespace tilevm::gpu
