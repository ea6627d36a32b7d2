// What the sanitizers must find: proof that they are there. finds address | undefined | thread
#include <climits>
#include <string_view>
#include <thread>
#include <vector>

int main(int argc, char** argv) { // argc is 2
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "address") {
    const std::vector<int> one(1);
    return one.data()[argc];
  }
  if (kind == "undefined")
    return INT_MAX - 1 + argc;
  if (kind == "thread") {
    std::thread other([&] { ++argc; });
    ++argc;
    other.join();
    return argc;
  }
  return 0;
}
