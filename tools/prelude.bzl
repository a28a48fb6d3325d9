"""Headers of the system's libraries that nearly every file includes, compiled once (precompiled headers of GCC and clang).

A file spends 2 to 3 seconds in them otherwise, half of a cold build. Files include what they use all the same.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    # A copy: the compiler looks for what is precompiled beside the header.
    header = ctx.actions.declare_file(ctx.attr.name + ".h")
    precompiled = ctx.actions.declare_file(ctx.attr.name + ".h.gch")

    # Byte for byte the options of the files that will include it, or the compiler does not take it.
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        source_file = header.path,
        output_file = precompiled.path,
        use_pic = True,
    )
    options = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )
    # One action: clang remembers the time of the copy, so that a new copy wants a new precompiled header even if it has the same bytes.
    ctx.actions.run_shell(
        command = 'set -e; cat "$1" > "$2"; to=$2; shift 2; while [ "$1" != -- ]; do echo "#include <$1>" >> "$to"; shift; done; shift; exec "$@"',
        arguments = [ctx.file.header.path, header.path] + ctx.attr.more + [
            "--",
            cc_common.get_tool_for_action(feature_configuration = features, action_name = CPP_COMPILE_ACTION_NAME),
            "-x",
            "c++-header",
        ] + options,
        env = cc_common.get_environment_variables(feature_configuration = features, action_name = CPP_COMPILE_ACTION_NAME, variables = variables),
        inputs = depset([ctx.file.header], transitive = [toolchain.all_files]),
        outputs = [header, precompiled],
        mnemonic = "PrecompileHeader",
        # clang writes the header's whole path into what it precompiles, and wants to see it there again: a sandbox's path is gone by then.
        execution_requirements = {
            "no-cache": "1",
            "no-sandbox": "1",
        },
        progress_message = "Precompiling " + ctx.attr.name + ".h",
    )
    return [
        DefaultInfo(files = depset([precompiled])),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([header, precompiled]))),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = "A header to be included first, by `-include PACKAGE/NAME.h` in the targets that depend on it.",
    attrs = {
        "header": attr.label(mandatory = True, allow_single_file = [".h"], doc = "What is compiled; under another name than NAME.h."),
        "more": attr.string_list(doc = "Headers that are included behind what `header` includes."),
        "copts": attr.string_list(doc = "Of the files that include it."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
