# kgd built by Nix, from this source: `nix run 'github:OWNER/kgd?dir=config/dist' -- --project ~/notes`.
{
  description = "Turns a folder of documents into a knowledge graph that people and agents can query";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      source = ../..;
      manifest = builtins.fromTOML (builtins.readFile (source + "/Cargo.toml"));
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system:
        let pkgs = nixpkgs.legacyPackages.${system}; in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "kgd";
            version = manifest.workspace.package.version;
            src = source;
            cargoLock.lockFile = source + "/Cargo.lock";
            cargoBuildFlags = [ "--bins" ];
            # Tests start daemons and look for a home folder; they are run where kgd is developed.
            doCheck = false;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            postInstall = ''
              $out/bin/kgctl man man1
              installManPage man1/*
              installShellCompletion --cmd kgctl \
                --bash <($out/bin/kgctl completions bash) \
                --zsh <($out/bin/kgctl completions zsh) \
                --fish <($out/bin/kgctl completions fish)
              install -Dm644 -t $out/lib/systemd/user systemd/kgd@.service systemd/kgd@.socket
              substituteInPlace $out/lib/systemd/user/kgd@.service --replace-fail "%h/.cargo/bin/kgd" "$out/bin/kgd"
            '';
            meta = {
              description = manifest.package.description;
              license = with pkgs.lib.licenses; [ mit asl20 ];
              mainProgram = "kg-mcp";
              platforms = systems;
            };
          };
        });
    };
}
