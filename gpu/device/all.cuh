// Everything that emitted text may call.
#pragma once
#include "device/control.cuh"
#include "device/dot.cuh"
#include "device/math.cuh"
#include "device/memory.cuh"
#include "device/reduce.cuh"
