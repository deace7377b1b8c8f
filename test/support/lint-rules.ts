/** The linter's rules of this project's own. */
const startWithEnv = {
  create(context: { report(problem: { node: unknown; message: string }): void }) {
    return {
      'CallExpression[callee.name=/^(spawn|spawnSync|fork|execFile|execFileSync)$/]:not(:has(Property[key.name="env"]))'(
        node: unknown,
      ) {
        const message = 'What is started must not inherit the environment, which holds secrets: give it an env.';
        context.report({ node, message });
      },
    };
  },
};

export default { meta: { name: 'kgrid' }, rules: { 'start-with-env': startWithEnv } };
