# Where scripts/gpu-first, gpu-prebuild and install-packages find CUDA and Open MPI. Sourced.
# shellcheck shell=sh disable=SC2154,SC2034

# use_open_mpi FOLDER LIBRARIES: where a moved Open MPI finds itself; its plugins for fabrics miss their libraries,
# quietly.
use_open_mpi() {
  export OPAL_PREFIX="$1/usr" OPAL_LIBDIR="$2" OPAL_PKGLIBDIR="$2/openmpi/lib/openmpi3"
  export OPAL_DATADIR="$1/usr/share" OPAL_SYSCONFDIR="$1/etc" OPAL_PKGDATADIR="$1/usr/share/openmpi"
  export PMIX_PREFIX="$2/pmix2" PMIX_LIBDIR="$2/pmix2/lib"
  export PMIX_PKGLIBDIR="$2/pmix2/lib/pmix" PMIX_PKGDATADIR="$2/pmix2/share/pmix"
  export OMPI_MCA_mca_base_component_show_load_errors=0
}

# The packages of .gpu-pack, unpacked beneath $out; sets pack_arguments for CMake, one a line.
use_pack() {
  system=$out/packages
  if [ ! -e "$system/.unpacked" ]; then
    for package in "$pack"/*.deb; do dpkg -x "$package" "$system"; done
    touch "$system/.unpacked"
  fi
  libraries=$system/usr/lib/x86_64-linux-gnu
  mkdir -p "$system/bin"
  ln -sf ../usr/bin/orterun "$system/bin/mpirun"
  ln -sf ../usr/bin/orted "$system/bin/orted"
  command -v ninja >/dev/null 2>&1 || ln -sf ../usr/bin/ninja "$system/bin/ninja"
  export PATH="$system/bin:$PATH"
  export LD_LIBRARY_PATH="$libraries:$libraries/openmpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  use_open_mpi "$system" "$libraries"
  pack_arguments=$(printf '%s\n' -DCMAKE_PREFIX_PATH="$system/usr" -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
    -DBoost_USE_STATIC_LIBS=ON -DMPI_ASSUME_NO_BUILTIN_MPI=ON -DMPI_SKIP_COMPILER_WRAPPER=ON \
    -DMPI_C_HEADER_DIR="$libraries/openmpi/include" -DMPI_C_LIB_NAMES=mpi \
    -DMPI_mpi_LIBRARY="$libraries/openmpi/lib/libmpi.so" \
    -DMPIEXEC_EXECUTABLE="$system/bin/mpirun" -DMESHWRIGHT_ONEDNN=off)
}

# The folder of the CUDA toolkit: the one that CMake takes (cmake/cuda.cmake), or else where scripts/install-packages cuda
# makes one.
cuda_home() {
  folder=${MESHWRIGHT_CUDA_HOME:-}
  if [ -z "$folder" ]; then
    nvcc=$(command -v nvcc || true)
    for folder in "${nvcc%/bin/nvcc}" "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda "${HOME:-}/.cache/meshwright/cuda"; do
      if [ -x "$folder/bin/nvcc" ]; then break; fi
    done
  fi
  echo "$folder"
}

# Folders with CUDA's and NCCL's libraries: the toolkit's, the driver's, those of Python's packages.
cuda_folders() {
  for folder in "${CUDA_HOME:-/usr/local/cuda}/lib64" "$(cuda_home)/lib64" /usr/local/nvidia/lib64 "${NCCL_HOME:+$NCCL_HOME/lib}"; do
    if [ -n "$folder" ] && [ -d "$folder" ]; then printf '%s:' "$folder"; fi
  done
  python3 -c '
import glob, importlib.util
spec = importlib.util.find_spec("nvidia")
for folder in spec.submodule_search_locations if spec else []:
    for libraries in sorted(glob.glob(folder + "/*/lib")):
        print(libraries, end=":")' 2>/dev/null || true
}

# What scripts/gpu-prebuild made: its own libraries first, then the machine's.
use_prebuilt() {
  mpi=$program_folder/mpi
  LD_LIBRARY_PATH="$program_folder/lib/meshwright:$(cuda_folders)${LD_LIBRARY_PATH:-}"
  export LD_LIBRARY_PATH
  if [ -x "$mpi/usr/bin/mpirun" ]; then
    export PATH="$mpi/usr/bin:$PATH"
    use_open_mpi "$mpi" "$mpi/usr/lib/x86_64-linux-gnu"
  fi
}

# The wheel of NCCL has no libnccl.so, only libnccl.so.2, so both files are named.
find_nccl() {
  for folder in "${NCCL_HOME:-}" "${CUDA_HOME:-/usr/local/cuda}" \
    "$(python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0])' 2>/dev/null || true)"; do
    [ -n "$folder" ] && [ -e "$folder/include/nccl.h" ] || continue
    for library in "$folder"/lib*/libnccl.so "$folder"/lib*/libnccl.so.2; do
      [ -e "$library" ] || continue
      printf -- '-DNCCL_INCLUDE_DIR=%s\n-DNCCL_LIBRARY=%s\n' "$folder/include" "$library"
      return
    done
  done
}
