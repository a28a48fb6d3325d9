#!/usr/bin/env bash
# embed FILE NAME HEADER SOURCE: C++ text that holds the bytes of FILE (tile_kernel.bzl).
set -euo pipefail
file=$1 name=$2 header=$3 source=$4

cat >"$header" <<TEXT
// Made by tile_kernel from ${file##*/}; not to be edited.
#pragma once

#include "absl/strings/string_view.h"

namespace tile_kernels {

// The bytes of ${file##*/}.
absl::string_view $name();

}  // namespace tile_kernels
TEXT

{
  cat <<TEXT
// Made by tile_kernel from ${file##*/}; not to be edited.
#include "absl/strings/string_view.h"

namespace tile_kernels {
namespace {

const unsigned char kBytes[] = {
TEXT
  od -An -v -tu1 "$file" | sed 's/\([0-9]\+\)/\1,/g'
  cat <<TEXT
};

}  // namespace

absl::string_view $name();
absl::string_view $name() { return absl::string_view(reinterpret_cast<const char*>(kBytes), sizeof(kBytes)); }

}  // namespace tile_kernels
TEXT
} >"$source"
