// Rules of host_reports: no credit that was granted is lost on the way to the host.
module host_reports_rules
  import tare_pkg::*;
  import host_pkg::*;
(
    input logic        clk_i,
    input logic        rst_ni,
    input message_t    message_o,
    input logic        payload_ready_i,
    input logic        revoke_i,
    input logic        grant_valid_i,
    input logic        grant_ready_o,
    input credits_t    grant_i,
    // Internal state, for the induction.
    input credits_t    granted_q,
    input logic [47:0] total_q
);
  reset_rules reset (.*);

  logic begun_q = 1'b0;
  logic [47:0] granted;  // since hello
  wire grants = grant_valid_i && grant_ready_o;

  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    granted <= (revoke_i ? '0 : granted) + (grants ? 48'(grant_i) : '0);
    if (!rst_ni) granted <= '0;
  end

  always_comb begin
    // What credits gives (its rule 1): never more than the capacity.
    assume (32'(granted_q) + 32'(grant_i) < 2 ** CreditWidth);

    if (begun_q) begin
      // What was reported, which each report of credits repeats, and what was not.
      rule_1_no_grant_lost : assert (total_q + 48'(granted_q) == granted);
      cover (message_o.begins && message_o.header.kind == Credit && payload_ready_i && message_o.payload.data[47:0] == granted && granted != 0);
    end
  end
endmodule

bind host_reports host_reports_rules rules (.*);
