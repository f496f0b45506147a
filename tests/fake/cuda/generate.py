#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C source and the version script of a library that stands for one of NVIDIA's.

    generate.py api SONAME INCLUDE PROTOTYPES OBJECT... -- BINARY...   cudart, cuda: functions of the headers
    generate.py cupti SONAME FOLDER INCLUDE OBJECT... -- BINARY...     CUPTI: functions of its headers, and names of calls;
                                                                       a version script for each release of releases.def
    generate.py math SONAME FOLDER OBJECT... -- BINARY...              libraries whose functions launch a kernel, or do nothing

What is exported is what the BINARIES want of that library, with the names of versions that they want; of an api also all
that its header declares, and of a library whose functions are told by their names all that an OBJECT defines, for who looks
functions up by name. Each function of an api tells the device that it begins and
ends (fake_call_begin), with the structure of its parameters that CUPTI hands to subscribers, and calls fake_NAME between:
where no OBJECT defines that, it answers "not supported". Headers are read where they are installed, and nothing of them is kept.
"""
from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

NOT_SUPPORTED = 801
DOMAINS = {"libcudart": ("FAKE_RUNTIME", "cuda_runtime_api.h", "generated_cuda_runtime_api_meta.h", "cupti_runtime_cbid.h"),
           "libcuda": ("FAKE_DRIVER", "cuda.h", "generated_cuda_meta.h", "cupti_driver_cbid.h")}


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wanted(soname: str, binaries: list[str]) -> dict[str, str]:
    """The functions that the binaries want of a library, each with the name of its version, "" for none."""
    names = {}
    needed = soname.split(".so")[0]
    for binary in binaries:
        for line in run("nm", "-D", "--undefined-only", binary).splitlines():
            name, _, version = line.split()[-1].partition("@")
            if version.startswith(needed + ".so") or (not version and is_of(needed, name)):
                names[name] = version
            elif version == "NVSHMEM" and needed == "libnvshmem_host":
                names[name] = version
    return names


# Those of mathematics that compute something, each as one kernel of its name, in the stream of its handle.
COMPUTES = re.compile(r"cublas\w*(gemm|gemv|trsm|syrk|dot|Gemm|geqrf|getr[fs]|matinv)\w*$|cusolverDn\w*(getrf|geqrf|syevd|gesvd|potrf)(Batched)?$"
                      r"|cusparse(SpMV|SpMM|SDDMM|SpGEMM_compute)$|cufftXtExec$|cudnn(BackendExecute|RNNForward|CTCLoss_v8)$")
HANDLES = re.compile(r"(?:cublas|cudnn|cusolverDn|cusparse)(Create|Destroy|SetStream|GetStream)(?:_v2)?$")
# Libraries whose functions have no versions are told by how names begin.
PREFIXES = {"libnccl": ("nccl", "pnccl"), "libcufile": ("cuFile",), "libcusparseLt": ("cusparseLt",), "libcuda": ("cu",)}


def is_of(library: str, name: str) -> bool:
    if library == "libcuda":
        return bool(re.match(r"cu[A-Z]", name)) and not name.startswith("cuFile")
    return name.startswith(PREFIXES.get(library, ("\0",)))


@dataclass
class Prototype:
    result: str
    name: str
    parameters: list[str]  # declarations
    names: list[str]


def split_parameters(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [] if parts in (["void"], [""]) else parts


def name_of(declaration: str) -> str:
    pointer = re.search(r"\(\s*(?:\w+\s*)?\*\s*(\w+)\s*\)", declaration)
    found = pointer or re.search(r"(\w+)\s*(?:\[\w*\]\s*)*$", declaration)
    assert found, declaration
    return found[1]


def prototypes(include: str, header: str, names: str = r"cu\w+") -> dict[str, Prototype]:
    """The functions of such names that a header declares, under the names that are exported."""
    text = run("gcc", "-E", "-P", "-x", "c", "-D__CUDA_API_VERSION_INTERNAL", f"-I{include}", "-include",
               f"{include}/{header}", "/dev/null")
    text = re.sub(r"__attribute__\(\([^()]*(?:\([^()]*\))?[^()]*\)\)", "", text)
    found = {}
    for result, name, inside in re.findall(r"(?:^|[;}])\s*(?:extern\s+)?((?:const\s+)?\w+\s*\**)\s*\b(" + names + r")\s*\(([^;{}]*)\)\s*;", text, re.M):
        parameters = split_parameters(re.sub(r"\s+", " ", inside))
        if "typedef" not in result:
            found[name] = Prototype(result.strip(), name, parameters, [name_of(part) for part in parameters])
    return found


def newest(text: str, pattern: str) -> dict[str, str]:
    """Of names with versions (cudaMalloc_v3020), the last; names without stay."""
    found: dict[str, tuple[int, str]] = {}
    for match in re.finditer(pattern, text):
        name, version = match[1], int(match[2] or 0)
        if version >= found.get(name, (-1, ""))[0]:
            found[name] = (version, match[3] if match.re.groups == 3 else match[0])
    return {name: whole for name, (_, whole) in found.items()}


def defined(objects: list[str]) -> set[str]:
    text = run("nm", "--defined-only", *objects) if objects else ""
    return {line.split()[-1] for line in text.splitlines() if " T " in line}


# Functions of programs that nvcc compiles with --default-stream per-thread.
PER_THREAD = re.compile(r"_pt[sd][sz]$")
# What answers in the child of a process whose driver was initialised; all else answers "not initialised".
FORKED = {"cudaGetLastError", "cudaPeekAtLastError", "cudaDriverGetVersion", "cudaRuntimeGetVersion", "__cudaPopCallConfiguration",
          "__cudaGetKernel", "cuDriverGetVersion", "cuGetErrorString", "cuGetErrorName"}
NOT_INITIALIZED = 3


def wrapper(prototype: Prototype, domain: str, structure: str | None, cbid: str, has_body: bool) -> str:
    given = ", ".join(prototype.names)
    body = PER_THREAD.sub("", prototype.name)
    is_per_thread = body != prototype.name
    lines = [f"{prototype.result} {prototype.name}({', '.join(prototype.parameters) or 'void'})", "{"]
    if structure:
        lines.append(f"\t{structure} given = {{{given}}};")
    if has_body:
        lines.insert(0, f"{prototype.result} fake_{body}({', '.join(prototype.parameters) or 'void'});")
    if prototype.name not in FORKED:
        error = f"({prototype.result}){NOT_INITIALIZED}"
        lines += ["\tif (fake_device_is_forked())",
                  f"\t\treturn {f'fake_error({error})' if domain == 'FAKE_RUNTIME' else error};"]
    lines += [f"\t{prototype.result} answer;",
              f"\tstruct fake_call call = {{.domain = {domain}, .cbid = {cbid}, .name = \"{prototype.name}\", "
              f".parameters = {'&given' if structure else 'NULL'}, .result = &answer}};",
              "\tfake_call_begin(&call);",
              *(["\tfake_zero_is_of_thread(true);"] if is_per_thread else []),
              f"\tanswer = fake_{body}({given});" if has_body else f"\tanswer = ({prototype.result}){NOT_SUPPORTED};",
              *(["\tfake_zero_is_of_thread(false);"] if is_per_thread else []),
              "\tfake_call_end(&call);", "\treturn answer;", "}", ""]
    return "\n".join(lines)


def api(soname: str, include: str, declarations: str, objects: list[str], binaries: list[str]) -> tuple[str, dict[str, str]]:
    domain, header, meta, cbids = DOMAINS[soname.split(".so")[0]]
    structures = newest(Path(include, meta).read_text(errors="replace"), r"\}\s*(\w+?)(?:_v(\d+))?_params;")
    structures = {name: re.sub(r"[};\s]", "", whole) for name, whole in structures.items()}
    numbers = newest(Path(include, cbids).read_text(errors="replace"), r"TRACE_CBID_(\w+?)(?:_v(\d+))?\s*=\s*(\d+)")
    # functions that the driver exports with a version have a structure and a number under that whole name, and so have others beside
    # those of an older name with one (cuMemcpy, cuMemcpy_v2)
    whole = Path(include, meta).read_text(errors="replace")
    structures.update({name: f"{name}_params" for name in re.findall(r"\}\s*(\w+)_params;", whole)})
    numbers.update(re.findall(r"TRACE_CBID_(\w+)\s*=\s*(\d+)", Path(include, cbids).read_text(errors="replace")))
    functions = prototypes(include, header)
    functions.update(prototypes_of_text(declarations))
    bodies = defined(objects)
    names = wanted(soname, binaries)
    versions = {version for version in names.values() if version}
    usual = next(iter(versions), "")
    text = [f"/* Generated: see generate.py. {soname} */", "#define __CUDA_API_VERSION_INTERNAL", f'#include "{header}"',
            f'#include "{meta}"', f'#include "{Path(declarations).name}"', '#include "../device/device.h"', '#include "runtime.h"', ""]
    exported = {}
    for name, prototype in sorted(functions.items()):
        if not re.match(r"\w+$", prototype.result.replace("*", "").replace(" ", "")):
            continue
        is_call = prototype.result in ("cudaError_t", "CUresult")
        if is_call:
            text.append(wrapper(prototype, domain, structures.get(name), numbers.get(name, "0"), f"fake_{PER_THREAD.sub('', name)}" in bodies))
        elif f"fake_{name}" not in bodies:
            continue
        else:
            parameters = ", ".join(prototype.parameters) or "void"
            back = "" if prototype.result == "void" else "return "
            text.append(f"{prototype.result} fake_{name}({parameters});\n{prototype.result} {name}({parameters})\n"
                        f"{{\n\t{back}fake_{name}({', '.join(prototype.names)});\n}}\n")
        exported[name] = names.get(name, usual)
    if domain == "FAKE_DRIVER":
        text.append(entry_points(include, set(exported)))
    missing = sorted(set(names) - set(exported))
    for name in missing:
        print(f"generate: {soname}: {name} is wanted and in no header", file=sys.stderr)
    return "\n".join(text), exported


def entry_points(include: str, exported: set[str]) -> str:
    """The table of what cuGetProcAddress finds: cudaTypedefs.h has the versions of CUDA from which on each form of a function is there, in the
    order in which the driver numbers them (cuMemAlloc, cuMemAlloc_v2), and those for the default stream of each thread beside them."""
    forms: dict[tuple[str, bool], set[int]] = {}
    for name, version, suffix in re.findall(r"PFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\)", Path(include, "cudaTypedefs.h").read_text(errors="replace")):
        forms.setdefault((name, bool(suffix)), set()).add(int(version))
    rows = []
    for (name, is_per_thread), versions in sorted(forms.items()):
        form = re.compile(name + r"(?:_v(\d+))?" + ("_pt[sd][sz]" if is_per_thread else "") + "$")
        functions = sorted((int(match[1] or 1), match[0]) for match in map(form.match, exported) if match)
        for version, (_, function) in zip(sorted(versions, reverse=True), reversed(functions)):
            rows.append(f'\t{{"{name}", {version}, {str(is_per_thread).lower()}, (void *){function}}},\n')
    return f"const struct fake_entry_point fake_entry_points[] = {{\n{''.join(rows)}\t{{NULL, 0, false, NULL}},\n}};\n"


def prototypes_of_text(path: str) -> dict[str, Prototype]:
    """Of our own header with what NVIDIA's declare to its compiler alone."""
    found = {}
    for result, name, inside in re.findall(r"^(\w[\w ]*?\**)\s*(\w+)\(([^;]*)\);", Path(path).read_text(), re.M):
        parameters = split_parameters(re.sub(r"\s+", " ", inside))
        found[name] = Prototype(result.strip(), name, parameters, [name_of(part) for part in parameters])
    return found


def names_of_calls(include: str, header: str) -> dict[int, str]:
    text = Path(include, header).read_text(errors="replace")
    return {int(number): name for name, number in re.findall(r"TRACE_CBID_(\w+)\s*=\s*(\d+)", text)}


# What answers without a driver, where any function does.
FREE = {"cuptiGetVersion", "cuptiGetTimestamp", "cuptiGetResultString", "cuptiGetErrorMessage", "cuptiGetCallbackName",
        "cuptiActivityGetNextRecord", "cuptiActivityGetNumDroppedRecords"}
CUPTI = Path(__file__).resolve().parent.parent / "cupti"
HEADERS = ["cupti.h", "cupti_pcsampling.h", "cupti_profiler_target.h", "cupti_target.h", "cupti_profiler_host.h", "cupti_range_profiler.h",
           "cupti_pmsampling.h"]


def releases() -> list[str]:
    """As 13.2, in their order."""
    return [name.replace("_", ".") for name in re.findall(r"^RELEASE\((\d+_\d+)", (CUPTI / "releases.def").read_text(), re.M)]


def is_in(name: str, release: str) -> bool:
    """Whether CUPTI has the function in that release."""
    since = dict(line.split()[::-1] for line in (CUPTI / "functions.txt").read_text().splitlines() if line[0] != "#")
    order = releases()
    return order.index(since.get(name, order[0])) <= order.index(release)


def cupti(soname: str, include: str, objects: list[str], binaries: list[str]) -> tuple[str, dict[str, str]]:
    declared = {name: prototype for header in HEADERS for name, prototype in prototypes(include, header, r"cupti\w+").items()}
    functions = {name: prototype for name, prototype in declared.items() if prototype.result == "CUptiResult"}
    bodies, names = defined(objects), wanted(soname, binaries)
    usual = next((version for version in names.values() if version), "")
    text = ["/* Generated: see generate.py. */", *(f"#include <{header}>" for header in HEADERS), "#include <stdbool.h>", "",
            "CUptiResult fake_refused(bool is_free);", ""]
    for domain, header in [("driver", "cupti_driver_cbid.h"), ("runtime", "cupti_runtime_cbid.h")]:
        inside = "".join(f'\t[{number}] = "{name}",\n' for number, name in sorted(names_of_calls(include, header).items()))
        text.append(f"static const char *const {domain}_names[1024] = {{\n{inside}}};\n")
    text.append("const char *fake_call_name(int domain, uint32_t cbid);\nconst char *fake_call_name(int domain, uint32_t cbid)\n{\n"
                "\treturn cbid >= 1024 ? NULL : domain == 1 ? driver_names[cbid] : domain == 2 ? runtime_names[cbid] : NULL;\n}\n")
    for name, prototype in sorted(functions.items()):
        parameters = ", ".join(prototype.parameters) or "void"
        is_free = "true" if name in FREE or name.startswith("cuptiProfilerHost") else "false"
        if f"fake_{name}" in bodies:
            text.append(f"CUptiResult fake_{name}({parameters});")
        answer = f"fake_{name}({', '.join(prototype.names)})" if f"fake_{name}" in bodies else "CUPTI_ERROR_NOT_SUPPORTED"
        text.append(f"CUptiResult {name}({parameters})\n{{\n\tCUptiResult refused = fake_refused({is_free});\n"
                    f"\treturn refused ? refused : {answer};\n}}\n")
    return "\n".join(text), {name: names.get(name, usual) for name in functions}


def math(soname: str, objects: list[str], binaries: list[str]) -> tuple[str, dict[str, str]]:
    names = wanted(soname, binaries)
    written = defined(objects)
    usual = next((version for version in names.values() if version), "")
    names = {name: usual for name in written if is_of(soname.split(".so")[0], name)} | names
    text = '#include "compute.h"\n'
    for name in sorted(set(names) - written):
        of_handle = HANDLES.match(name)
        if of_handle:
            body = f"fake_handle_{of_handle[1]}(handle, more)"
        else:
            body = f'fake_compute(handle, "{name}")' if COMPUTES.match(name) else "0"
        text += f"long {name}(void *handle, void *more)\n{{\n\t(void)handle, (void)more;\n\treturn {body};\n}}\n"
    return text, names


def version_script(names: dict[str, str]) -> str:
    text = ""
    for version in sorted(set(names.values())):
        inside = "".join(f"\t{name};\n" for name, of in sorted(names.items()) if of == version)
        text += f"{version} {{\nglobal:\n{inside}local:\n\t*;\n}};\n" if version else f"{{\nglobal:\n{inside}local:\n\t*;\n}};\n"
    return text


def main() -> None:
    kind, soname, folder, *rest = sys.argv[1:]
    split = rest.index("--")
    given, binaries = rest[:split], rest[split + 1:]
    if kind == "api":
        text, names = api(soname, given[0], given[1], given[2:], binaries)
    elif kind == "cupti":
        text, names = cupti(soname, given[0], given[1:], binaries)
        for release in releases():
            script = version_script({name: of for name, of in names.items() if is_in(name, release)})
            Path(folder, f"cupti-{release}.map").write_text(script)
    else:
        text, names = math(soname, given, binaries)
    Path(folder, soname + ".c").write_text(text)
    Path(folder, soname + ".map").write_text(version_script(names))


if __name__ == "__main__":
    main()
