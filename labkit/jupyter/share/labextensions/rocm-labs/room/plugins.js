export const plugins = async () => [];
