"""tile_kernel: a kernel file compiled when the program is built, and embedded in it."""

def tile_kernel(name, src, imports = [], visibility = None, **kwargs):
    """Compiles a .py or .tasm file to tile bytecode and embeds the bytes in a cc_library.

    The library NAME has the header NAME.h, to be included by its path from the
    workspace root ("package/NAME.h"), with one function in namespace tile_kernels:

        absl::string_view NAME();   // the whole .tbc, alive as long as the program

    which goes into tilevm::vm::Engine::Load (vm/engine.h). The file itself is
    the target NAME.tbc. A kernel that does not compile stops the build with its
    own line and column.

    Args:
      name: the library, and the C++ function; a C++ identifier.
      src: the kernel file.
      imports: files that src imports.
      visibility: of the library and the .tbc.
      **kwargs: passed to cc_library.
    """
    native.genrule(
        name = name + "_tbc",
        srcs = [src] + imports,
        outs = [name + ".tbc"],
        cmd = "$(execpath @tilevm//vm:tilevm) compile $(execpath %s) -o $@ > /dev/null" % src,
        tools = ["@tilevm//vm:tilevm"],
        message = "Compiling the kernels of",
        visibility = visibility,
    )
    native.genrule(
        name = name + "_embed",
        srcs = [name + ".tbc"],
        outs = [name + ".h", name + ".cc"],
        cmd = "$(execpath @tilevm//vm:embed) $(execpath %s.tbc) %s $(execpath %s.h) $(execpath %s.cc)" % (name, name, name, name),
        tools = ["@tilevm//vm:embed"],
    )
    native.cc_library(
        name = name,
        srcs = [name + ".cc"],
        hdrs = [name + ".h"],
        visibility = visibility,
        deps = ["@absl"],
        **kwargs
    )
