# assay.rb - builds assay from the clone that this file lies in:
#   brew install --build-from-source --formula packaging/homebrew/assay.rb
class Assay < Formula
  desc "Performance laboratory for neural networks"
  homepage "file://#{File.expand_path("../..", __dir__)}"
  url "file://#{File.expand_path("../..", __dir__)}", using: :git
  version "0.1.0"
  license "Apache-2.0"

  depends_on "pkgconf" => :build
  depends_on "jansson"
  depends_on "sqlite"

  def install
    system "make", "install", "PREFIX=#{prefix}", "ZSH_DIR=share/zsh/site-functions"
  end

  test do
    assert_match "y: f32[2,10]", shell_output("#{bin}/assay run mlp-small --batch 2")
  end
end
