// Generated from regs/module.rdl by regs/regs.py; make changes there.
//
// A write takes effect two cycles later. The answer to a read comes three cycles after it, one read at a time.
// For 64-bit registers that the core writes, reading the low half latches the high half for the next read.
//
// `unknown` holds until the next read or write.
module registers
  import tare_pkg::*;
  import generator_pkg::*;
  import registers_pkg::*;
(
    input  logic             clk_i,
    input  logic             rst_ni,
    input  register_ask_t    ask_i,
    output register_answer_t answer_o,
    output settings_t        settings_o,
    input  values_t          values_i
);
  wire [10:0] word = ask_i.address[12:2];
  logic [10:0] word_q;  // the word to read
  logic [2:0] reading_q;
  logic [31:0] high_q;
  logic [3:0][31:0] group_q;
  logic [31:0] any_group;
  // Writes are decoded a cycle early, so that no register waits for the decoding of an address.
  logic [26:0] hit_q;
  logic [31:0] data_q;
  always_comb begin
    any_group = '0;
    for (int unsigned i = 0; i < 4; i++) any_group |= group_q[i];
  end

  always_ff @(posedge clk_i) begin
    settings_o.control.forget <= 1'b0;
    settings_o.control.gap_set <= 1'b0;
    settings_o.control.clear <= 1'b0;
    settings_o.clock.ns_set <= 1'b0;
    settings_o.clock.ns_step <= 1'b0;
    settings_o.clock.capture <= 1'b0;
    settings_o.figure.ask <= 1'b0;
    settings_o.memory.address_write <= ask_i.write && word == 11'h011;
    settings_o.memory.address <= ask_i.data[15:0];
    settings_o.memory.data_write <= ask_i.write && word == 11'h012;
    settings_o.memory.data <= ask_i.data;
    data_q <= ask_i.data;
    hit_q[0] <= ask_i.write && word == 11'h004;
    hit_q[1] <= ask_i.write && word == 11'h005;
    hit_q[2] <= ask_i.write && word == 11'h008;
    hit_q[3] <= ask_i.write && word == 11'h009;
    hit_q[4] <= ask_i.write && word == 11'h00a;
    hit_q[5] <= ask_i.write && word == 11'h00b;
    hit_q[6] <= ask_i.write && word == 11'h00c;
    hit_q[7] <= ask_i.write && word == 11'h00d;
    hit_q[8] <= ask_i.write && word == 11'h00e;
    hit_q[9] <= ask_i.write && word == 11'h010;
    hit_q[10] <= ask_i.write && word == 11'h014;
    hit_q[11] <= ask_i.write && word == 11'h015;
    hit_q[12] <= ask_i.write && word == 11'h016;
    hit_q[13] <= ask_i.write && word == 11'h017;
    hit_q[14] <= ask_i.write && word == 11'h01c;
    hit_q[15] <= ask_i.write && word == 11'h01d;
    hit_q[16] <= ask_i.write && word == 11'h020;
    hit_q[17] <= ask_i.write && word == 11'h021;
    hit_q[18] <= ask_i.write && word == 11'h022;
    hit_q[19] <= ask_i.write && word == 11'h023;
    hit_q[20] <= ask_i.write && word == 11'h024;
    hit_q[21] <= ask_i.write && word == 11'h025;
    hit_q[22] <= ask_i.write && word == 11'h026;
    hit_q[23] <= ask_i.write && word == 11'h027;
    hit_q[24] <= ask_i.write && word == 11'h028;
    hit_q[25] <= ask_i.write && word == 11'h02d;
    hit_q[26] <= ask_i.write && word == 11'h02e;
    if (hit_q[0]) begin
      settings_o.control.live <= data_q[0];
      settings_o.control.run <= data_q[1];
      settings_o.generator.gaps_from_list <= data_q[2];
      settings_o.generator.from <= from_e'(data_q[4:3]);
      settings_o.generator.first_from <= from_e'(data_q[6:5]);
    end
    if (hit_q[1]) begin
      settings_o.control.forget <= data_q[0];
      settings_o.control.gap_set <= data_q[1];
      settings_o.control.clear <= data_q[2];
      settings_o.clock.ns_set <= data_q[4];
      settings_o.clock.ns_step <= data_q[5];
      settings_o.clock.capture <= data_q[6];
    end
    if (hit_q[2]) settings_o.generator.first_time[31:0] <= data_q[31:0];
    if (hit_q[3]) settings_o.generator.first_time[63:32] <= data_q[31:0];
    if (hit_q[4]) settings_o.generator.last_entry <= data_q[11:0];
    if (hit_q[5]) settings_o.generator.frames <= data_q[31:0];
    if (hit_q[6]) settings_o.generator.gap_whole <= data_q[31:0];
    if (hit_q[7]) settings_o.generator.gap_numerator <= data_q[31:0];
    if (hit_q[8]) settings_o.generator.gap_denominator <= data_q[31:0];
    if (hit_q[9]) settings_o.memory.which <= memory_e'(data_q[2:0]);
    if (hit_q[10]) settings_o.clock.ns_whole <= data_q[7:0];
    if (hit_q[11]) settings_o.clock.ns_fraction <= data_q[31:0];
    if (hit_q[12]) settings_o.clock.ns_value[31:0] <= data_q[31:0];
    if (hit_q[13]) settings_o.clock.ns_value[63:32] <= data_q[31:0];
    if (hit_q[14]) begin
      settings_o.listen.signed_ <= data_q[0];
      settings_o.listen.signature_at <= data_q[8:1];
    end
    if (hit_q[15]) settings_o.listen.gap_reference <= data_q[31:0];
    if (hit_q[16]) begin
      settings_o.listen.rule_place[0].at <= data_q[7:0];
      settings_o.listen.rule_place[0].enable <= data_q[8];
    end
    if (hit_q[17]) begin
      settings_o.listen.rule_place[1].at <= data_q[7:0];
      settings_o.listen.rule_place[1].enable <= data_q[8];
    end
    if (hit_q[18]) begin
      settings_o.listen.rule_place[2].at <= data_q[7:0];
      settings_o.listen.rule_place[2].enable <= data_q[8];
    end
    if (hit_q[19]) begin
      settings_o.listen.rule_place[3].at <= data_q[7:0];
      settings_o.listen.rule_place[3].enable <= data_q[8];
    end
    if (hit_q[20]) begin
      settings_o.listen.rule_value[0].value <= data_q[15:0];
      settings_o.listen.rule_value[0].mask <= data_q[31:16];
    end
    if (hit_q[21]) begin
      settings_o.listen.rule_value[1].value <= data_q[15:0];
      settings_o.listen.rule_value[1].mask <= data_q[31:16];
    end
    if (hit_q[22]) begin
      settings_o.listen.rule_value[2].value <= data_q[15:0];
      settings_o.listen.rule_value[2].mask <= data_q[31:16];
    end
    if (hit_q[23]) begin
      settings_o.listen.rule_value[3].value <= data_q[15:0];
      settings_o.listen.rule_value[3].mask <= data_q[31:16];
    end
    if (hit_q[24]) begin
      settings_o.figure.at <= data_q[9:0];
      settings_o.figure.what <= data_q[11:10];
      settings_o.figure.ask <= data_q[12];
    end
    if (hit_q[25]) begin
      settings_o.link.departures <= data_q[0];
      settings_o.link.received <= data_q[1];
    end
    if (hit_q[26]) settings_o.link.patience <= data_q[31:0];
    if (!rst_ni) begin
      hit_q <= '0;
      settings_o.control.live <= 1'h0;
      settings_o.control.run <= 1'h0;
      settings_o.generator.gaps_from_list <= 1'h0;
      settings_o.generator.from <= from_e'(2'h2);
      settings_o.generator.first_from <= from_e'(2'h0);
      settings_o.control.forget <= 1'h0;
      settings_o.control.gap_set <= 1'h0;
      settings_o.control.clear <= 1'h0;
      settings_o.clock.ns_set <= 1'h0;
      settings_o.clock.ns_step <= 1'h0;
      settings_o.clock.capture <= 1'h0;
      settings_o.generator.first_time <= 64'h0;
      settings_o.generator.last_entry <= 12'h0;
      settings_o.generator.frames <= 32'h0;
      settings_o.generator.gap_whole <= 32'h54;
      settings_o.generator.gap_numerator <= 32'h0;
      settings_o.generator.gap_denominator <= 32'h1;
      settings_o.memory.which <= memory_e'(3'h0);
      settings_o.clock.ns_whole <= 8'h8;
      settings_o.clock.ns_fraction <= 32'h0;
      settings_o.clock.ns_value <= 64'h0;
      settings_o.listen.signed_ <= 1'h0;
      settings_o.listen.signature_at <= 8'h15;
      settings_o.listen.gap_reference <= 32'h0;
      settings_o.listen.rule_place[0].at <= 8'h0;
      settings_o.listen.rule_place[0].enable <= 1'h0;
      settings_o.listen.rule_place[1].at <= 8'h0;
      settings_o.listen.rule_place[1].enable <= 1'h0;
      settings_o.listen.rule_place[2].at <= 8'h0;
      settings_o.listen.rule_place[2].enable <= 1'h0;
      settings_o.listen.rule_place[3].at <= 8'h0;
      settings_o.listen.rule_place[3].enable <= 1'h0;
      settings_o.listen.rule_value[0].value <= 16'h0;
      settings_o.listen.rule_value[0].mask <= 16'h0;
      settings_o.listen.rule_value[1].value <= 16'h0;
      settings_o.listen.rule_value[1].mask <= 16'h0;
      settings_o.listen.rule_value[2].value <= 16'h0;
      settings_o.listen.rule_value[2].mask <= 16'h0;
      settings_o.listen.rule_value[3].value <= 16'h0;
      settings_o.listen.rule_value[3].mask <= 16'h0;
      settings_o.figure.at <= 10'h0;
      settings_o.figure.what <= 2'h0;
      settings_o.figure.ask <= 1'h0;
      settings_o.link.departures <= 1'h0;
      settings_o.link.received <= 1'h0;
      settings_o.link.patience <= 32'h0;
    end
  end

  logic readable, writable;
  always_comb begin
    unique case (word)
      11'h000, 11'h001, 11'h002, 11'h003, 11'h006, 11'h007, 11'h018, 11'h019, 11'h01a, 11'h01b, 11'h029, 11'h02a, 11'h02c, 11'h046,
      11'h047: readable = 1'b1;
      default: readable = 1'b0;
    endcase
    unique case (word)
      11'h004, 11'h005, 11'h008, 11'h009, 11'h00a, 11'h00b, 11'h00c, 11'h00d, 11'h00e, 11'h010, 11'h011, 11'h012, 11'h014, 11'h015,
      11'h016, 11'h017, 11'h01c, 11'h01d, 11'h020, 11'h021, 11'h022, 11'h023, 11'h024, 11'h025, 11'h026, 11'h027, 11'h028, 11'h02d,
      11'h02e: writable = 1'b1;
      default: writable = 1'b0;
    endcase
  end

  // The address is stable until the answer.
  logic readable_q, writable_q, wrote_q;
  assign answer_o.unknown = wrote_q ? !writable_q : !readable_q;
  always_ff @(posedge clk_i) begin
    readable_q <= readable;
    writable_q <= writable;
    wrote_q    <= ask_i.write || (wrote_q && !ask_i.read);
  end

  // Reading: select within groups of eight words first, then combine the groups.
  always_ff @(posedge clk_i) begin
    word_q <= word;
    if (reading_q[0]) begin
      unique case (word_q)
        11'h046: high_q <= 32'(values_i.status.latest[63:32]);
        default: ;
      endcase
    end
    if (reading_q[0]) begin
      if (word_q[10:3] == 8'h00) begin
        unique case (word_q[2:0])
          3'h0: group_q[0] <= 32'h54415245;
          3'h1: group_q[0] <= {16'h1, 16'h0};
          3'h2: group_q[0] <= values_i.build[31:0];
          3'h3: group_q[0] <= {8'h20, 8'hc, 8'h4, 8'h20};
          3'h6: group_q[0] <= {29'b0, values_i.status_wire, values_i.status.forgetting, values_i.status.idle};
          3'h7: group_q[0] <= values_i.status.forgotten[31:0];
          default: group_q[0] <= '0;
        endcase
      end else begin
        group_q[0] <= '0;
      end
      if (word_q[10:3] == 8'h03) begin
        unique case (word_q[2:0])
          3'h0: group_q[1] <= values_i.captured.time_[31:0];
          3'h1: group_q[1] <= values_i.captured.time_[63:32];
          3'h2: group_q[1] <= values_i.captured.tick[31:0];
          3'h3: group_q[1] <= values_i.captured.tick[63:32];
          default: group_q[1] <= '0;
        endcase
      end else begin
        group_q[1] <= '0;
      end
      if (word_q[10:3] == 8'h05) begin
        unique case (word_q[2:0])
          3'h1: group_q[2] <= values_i.read_data[31:0];
          3'h2: group_q[2] <= {31'b0, values_i.read_state_done};
          3'h4: group_q[2] <= 32'h6bfa7c40;
          default: group_q[2] <= '0;
        endcase
      end else begin
        group_q[2] <= '0;
      end
      if (word_q[10:3] == 8'h08) begin
        unique case (word_q[2:0])
          3'h6: group_q[3] <= values_i.status.latest[31:0];
          3'h7: group_q[3] <= high_q;
          default: group_q[3] <= '0;
        endcase
      end else begin
        group_q[3] <= '0;
      end
    end
    answer_o.data  <= any_group;
    answer_o.valid <= reading_q[1];
    reading_q      <= {reading_q[1:0], ask_i.read};
    if (!rst_ni) begin
      reading_q      <= '0;
      answer_o.valid <= 1'b0;
    end
  end
endmodule
